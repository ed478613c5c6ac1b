// support: a real store in memory, filled through its port with runs as the test needs them.

import type { Decision } from '../../src/domain/decision.ts';
import { planDigest } from '../../src/domain/digest.ts';
import type { Claim, Episode } from '../../src/domain/episode.ts';
import type { IdentityChanges, ListedIdentity } from '../../src/domain/identity.ts';
import type { Intent } from '../../src/domain/intent.ts';
import type { CarriedPlan, Plan } from '../../src/domain/plan.ts';
import type { Clock } from '../../src/domain/ports.ts';
import type { Run, RunRuleTally } from '../../src/domain/run.ts';
import type { SourceReading } from '../../src/domain/snapshot.ts';
import type { RunRecord } from '../../src/domain/store.ts';
import { SOURCES, type Source } from '../../src/domain/subjects.ts';

import { linkEntry } from '../../src/engine/audit/signing-key.ts';
import type { SqlStore } from '../../src/store/sql-store.ts';
import { migrate, openDatabase } from '../../src/store/sqlite/database.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { freshDatabase } from './memory-database.ts';

export const START_MS = Date.UTC(2026, 10, 21, 9, 0, 0);

/** Moves only when the test moves it. */
export function fakeClock(startMs = START_MS): Clock & { advance(ms: number): void } {
  let nowMs = startMs;
  return {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    sleep: async (ms) => {
      nowMs += ms;
    },
    advance: (ms) => {
      nowMs += ms;
    },
  };
}

export function openStore(clock: Clock = fakeClock(), file = ':memory:'): SqliteStore {
  const db = file === ':memory:' ? freshDatabase() : openDatabase(file);
  if (file !== ':memory:') migrate(db);
  return new SqliteStore(db, linkEntry, clock);
}

export interface RunFill {
  id?: string;
  mode?: Run['mode'];
  daemonMode?: Run['mode'];
  trigger?: Run['trigger'];
  demo?: boolean;
  startedAt?: number;
  decisions?: Decision[];
  endedDecisions?: string[];
  intents?: Intent[];
  /** Of intents that are stored. */
  claims?: Claim[];
  episodes?: Episode[];
  plan?: Plan;
  carried?: CarriedPlan;
  identities?: IdentityChanges[];
  tallies?: RunRuleTally[];
  sources?: Partial<Record<Source, Partial<SourceReading>>>;
  error?: string;
  /** Only over chosen rules; with the trigger `watch` over the subjects of new events. */
  scoped?: true;
  /** False: it stays under way. */
  finished?: boolean;
}

/** One run, begun, committed and finished. */
export async function addRun(store: SqlStore, fill: RunFill = {}): Promise<RunRecord> {
  const { id = 'run1', mode = 'dry-run', startedAt = START_MS, decisions = [], carried } = fill;
  const plan = carried?.plan ?? fill.plan;
  const tallies = fill.tallies ?? [...new Set(decisions.map(({ rule }) => rule))].map((rule) => tally({ rule }));
  const begun: Omit<Run, 'seq'> = {
    id,
    mode,
    daemonMode: fill.daemonMode ?? 'enforce',
    trigger: fill.trigger ?? 'command',
    rules: tallies.map(({ rule }) => rule),
    ruleSetHash: 'a'.repeat(64),
    startedAt,
    finishedAt: undefined,
    status: 'running',
    error: undefined,
    demo: fill.demo ?? false,
    ...(fill.scoped && { scoped: true }),
    ...(fill.scoped && fill.trigger === 'watch' && { countsWith: 'the last whole run' }),
  };
  const run = await store.beginRun(begun, [{ kind: 'run.started', body: { run: id } }]);
  await store.commitRun({
    runId: id,
    findings: { snapshot: snapshot(id, startedAt, fill.sources), tallies, planDigest: plan?.digest ?? 'd'.repeat(64) },
    baselines: [],
    movements: [],
    episodes: [...episodesOf(fill.intents ?? []), ...(fill.episodes ?? [])],
    claims: fill.claims ?? [],
    decisions,
    endedDecisions: fill.endedDecisions ?? [],
    intents: fill.intents ?? [],
    plan,
    carriedPlans: carried ? [carried] : [],
    supersededPlans: [],
    notes: decisions.map(({ id: decision }) => ({ kind: 'decision.made', body: { decision } })),
  });
  await store.saveIdentities(fill.identities ?? []);
  if (fill.finished !== false) {
    const status = fill.error === undefined ? 'completed' : 'aborted';
    await store.finishRun({ ...run, status, finishedAt: startedAt + 3_000, error: fill.error }, []);
  }
  return (await store.run(id)) as RunRecord;
}

/** A live run whose only intent was answered after it was committed. */
export async function addLiveRun(store: SqlStore): Promise<RunRecord> {
  const live = decision({ mode: 'enforce', cappedBy: undefined, outcome: undefined, intentId: 'intent1' });
  const run = await addRun(store, { mode: 'enforce', decisions: [live], intents: [intent()] });
  const change = { intentId: 'intent1', notes: [] };
  await store.markSent({ ...change, run: run.id });
  await store.settle({ ...change, outcome: 'succeeded', note: 'Success' });
  return run;
}

/** Intents depend on episodes; the tables require that these exist. */
function episodesOf(intents: readonly Intent[]): Episode[] {
  return intents
    .flatMap(({ basis }) => basis)
    .map(({ episodeId, rule, subjectId }) => ({
      id: episodeId,
      rule,
      subject: { kind: 'device', id: subjectId },
      since: START_MS,
      matchingSince: START_MS,
      state: 'matching',
      stateSince: START_MS,
      absentSince: undefined,
      seenSo: [],
      overriddenAt: undefined,
      closedAt: undefined,
      closeReason: undefined,
    }));
}

/** What a reading shows of a device, without owners by default. */
export function deviceSeen(id: string, over: Partial<ListedIdentity> = {}): ListedIdentity {
  const same = { serial: `S-${id}`, name: `Name of ${id}`, platform: 'macOS', model: 'Mac14,2', owners: undefined };
  return { kind: 'device', id, ...same, facts: 0, ...over };
}

/** A ban of a compromised device, in a dry run by default. */
export function decision(over: Partial<Decision> = {}): Decision {
  const subject = over.subject ?? { kind: 'device', id: 'device-1' };
  const name = over.subjectName ?? 'Ana laptop';
  return {
    id: 'decision1',
    rule: 'ban-compromised-device',
    ruleHash: 'b'.repeat(64),
    subject,
    subjectName: name,
    verdict: 'match',
    since: START_MS - 60_000,
    decision: 'act',
    reason: 'rule_matches',
    reasonText: 'the rule matches',
    action: 'ban_device',
    target: 'SERIAL-1',
    mode: 'dry-run',
    cappedBy: 'run',
    facts: { 'MdmData.CompromisedStatus': 'TRUE' },
    effect: {
      text: 'ban serial number SERIAL-1: 1 device',
      devices: [{ id: subject.id, name, platform: 'macOS', model: 'Mac14,2' }],
    },
    episodeId: undefined,
    intentId: undefined,
    outcome: 'dry_run',
    outcomeText: undefined,
    ...over,
  };
}

/** A ban that was sent and has succeeded at once. */
export function doneIntent(sentAt: number, over: Partial<Intent> = {}): Intent {
  const done = {
    status: 'settled',
    outcome: 'succeeded',
    attempts: 1,
    createdAt: sentAt,
    sentAt,
    settledAt: sentAt,
  } as const;
  return intent({ ...done, ...over });
}

/** A planned live ban, for one decision. */
export function intent(over: Partial<Intent> = {}): Intent {
  return {
    id: 'intent1',
    runId: 'run1',
    mode: 'enforce',
    planId: undefined,
    action: 'ban_device',
    target: 'SERIAL-1',
    settings: {},
    undo: false,
    approved: false,
    basis: [
      {
        rule: 'ban-compromised-device',
        ruleHash: 'b'.repeat(64),
        subjectId: 'device-1',
        episodeId: 'episode1',
        decisionId: 'decision1',
        facts: { 'MdmData.CompromisedStatus': 'TRUE' },
      },
    ],
    effect: { text: 'ban serial number SERIAL-1: 1 device', devices: [] },
    status: 'planned',
    outcome: undefined,
    attempts: 0,
    doubtRetries: 0,
    createdAt: START_MS,
    sentAt: undefined,
    settledAt: undefined,
    note: undefined,
    ...over,
  };
}

/** A pending plan for a decision. */
export function plan(held: Decision, over: Partial<Plan> = {}): Plan {
  const { rule, ruleHash, subject, action, target, facts, effect, reason, reasonText } = held;
  const basis = [{ rule, ruleHash, subjectId: subject.id, episodeId: 'episode1', decisionId: held.id, facts }];
  const sealed = { action, target, settings: {}, undo: false, basis, effect, key: 'k'.repeat(64), reason, reasonText };
  const intents = [{ ...sealed, held: held.decision === 'hold' }];
  return {
    id: 'plan1',
    digest: planDigest(intents),
    runId: 'run1',
    mode: 'enforce',
    status: 'pending',
    intents,
    createdAt: START_MS,
    expiresAt: START_MS + 86_400_000,
    decidedAt: undefined,
    decidedBy: undefined,
    decidedReason: undefined,
    ...over,
  };
}

export function tally(over: Partial<RunRuleTally> = {}): RunRuleTally {
  return {
    rule: 'ban-compromised-device',
    title: 'Ban devices that MDM reports as compromised',
    mode: 'enforce',
    hash: 'b'.repeat(64),
    judged: true,
    match: 1,
    no_match: 9,
    unknown: 0,
    error: 0,
    missing: {},
    examples: [],
    ...over,
  };
}

function snapshot(runId: string, at: number, over: RunFill['sources'] = {}) {
  const reading = (source: Source): SourceReading => ({
    source,
    state: 'read',
    form: 'paged',
    startedAt: at,
    finishedAt: at + 1_000,
    count: 10,
    unreadable: { count: 0, examples: [] },
    dropped: [],
    trusted: true,
    reasons: [],
    ...over[source],
  });
  const sources = Object.fromEntries(SOURCES.map((source) => [source, reading(source)]));
  return { id: `snapshot-${runId}`, nowMs: at, sources: sources as Record<Source, SourceReading> };
}
