// operate: check again: one subject that somebody asked about is read now and judged; what it mended ends, and is undone. In: the subject, who asks.
// Out: what each of its rules says. INVARIANT: it begins nothing, undoes nothing on an older report, and rests on a whole run that was trusted and is
// recent. A run of its own, which counts with that one (docs/decisions/0079).

import { isoTime } from '../../base/time.ts';
import type { DecisionNow } from '../../domain/decision.ts';
import type { Episode } from '../../domain/episode.ts';
import { AppError } from '../../domain/errors.ts';
import { type Facts, ownTexts } from '../../domain/facts.ts';
import { demandOne, type Identity, resolveName } from '../../domain/identity.ts';
import { countsEvents, type Rule } from '../../domain/rule.ts';
import type { CheckedRule, CheckFound } from '../../domain/run.ts';
import type { Checked } from '../../domain/store.ts';
import { SOURCE_OF, type SubjectKind, type SubjectRef, summaryOf } from '../../domain/subjects.ts';
import { COUNTED_REASONS, type Part } from '../decide/input.ts';
import { readRecord } from '../pull/fleet-index.ts';
import { skippedReading } from '../pull/pull-source.ts';
import { dropSecrets } from '../pull/trust-gate.ts';
import {
  abortRun,
  actContext,
  actOn,
  afterPull,
  beginRun,
  completeRun,
  decideInput,
  decideRun,
  type Engine,
  newRun,
  plansBeside,
  type RunRules,
} from '../run/engine.ts';
import { keepHistory } from '../run/look.ts';
import { partSnapshot, type Standing, standing } from '../run/part-snapshot.ts';
import { boundedLookups, type Lookups, RECORDS_MAX, takeOverLookBacks } from '../run/pulled-snapshot.ts';
import { commitOf, logOperatorState, operatorStateSeen } from '../run/run-commit.ts';

/** A subject is read no more often. Failed readings are not counted. */
export const CHECK_EVERY_MS = 60_000;
/** Runs that are read at once to find the last check. */
const RUNS_AT_ONCE = 20;
const DECISIONS_MAX = 200;

/**
 * In its turn of the run queue. A person who asks for their own device is `by` `person ADDRESS`, and `owner` that address: a device
 * that the platform does not say is theirs is told nothing of, and nothing is done.
 * Errors: AppError `not_found`, `conflict` (nothing can be checked now), those of reading the API and of a run.
 */
export async function checkAgain(
  engine: Engine,
  kind: SubjectKind,
  name: string,
  by: string,
  owner?: string,
): Promise<Checked> {
  const { store } = engine;
  const identity = demandOne(await resolveName(store, name, { kinds: [kind] }), name).subjects[0];
  const subject = { kind, id: identity.id };
  const last = await lastCheck(engine, subject);
  if (last) {
    demandOwner(last.found, owner);
    return { ...last, isRepeat: true, undos: await undosOf(engine, last.found) };
  }
  const stands = await standing(engine, { missedSince: engine.missedSince ?? (() => 0) }, true);
  if ('code' in stands) throw new AppError('conflict', `nothing can be checked now: ${stands.text}`);
  const nowMs = engine.clock.nowMs();
  const begun = engine.steady.read();
  const lookups = boundedLookups(engine.api);
  const read = await readNow(lookups, identity);
  if (read.length === 0) {
    const found = { subject, name: undefined, owners: [], readAt: nowMs, rules: [] };
    return { found, isRepeat: false, run: undefined, undos: [] };
  }
  const own = read.find((record) => summaryOf(kind, record).id === subject.id) as Facts;
  const owners = ownTexts(own, 'Emails') ?? [];
  demandOwner({ subject, owners }, owner);
  const records = { device: [], user: [], service: [], [kind]: read };
  const rules = ofKind(stands, kind);
  const { pulled, openState } = await partSnapshot({
    ...{ engine, lookups, nowMs, begun, records, fresh: [], isCheck: true },
    standing: { ...stands, rules },
    events: skippedReading('events', nowMs),
    coverage: await store.coverage(),
  });
  const { whole } = stands;
  const ids = new Set(read.map((record) => summaryOf(kind, record).id));
  const part: Part = {
    sinceSeq: whole.seq,
    counted: await store.countedSince(whole.seq, COUNTED_REASONS),
    attempts: await store.attemptsOfRun(whole.id),
    hasRead: (one) => one.kind === kind && ids.has(one.id),
    isCheck: true,
  };
  const asked = { mode: engine.daemonMode, trigger: 'check', rules: undefined } as const;
  const fresh = { ...newRun(engine, asked, rules, nowMs), scoped: true as const, countsWith: whole.id };
  const sources = whole.findings.snapshot.sources;
  const input = { ...decideInput(engine, fresh, rules, pulled, openState), sources, part };
  const made = await decideRun(engine, fresh, input, () => plansBeside(engine, 'more'));
  const after = new Map(openState.episodes.map((one) => [one.id, one]));
  for (const episode of made.decided.episodes) after.set(episode.id, episode);
  const found: CheckFound = {
    subject,
    name: summaryOf(kind, own).name,
    owners,
    readAt: nowMs,
    rules: [
      ...judgedRules(rules.rules, pulled.judgements, openState.episodes, after),
      ...unjudgedRules(
        engine.active().rules,
        rules.rules,
        openState.episodes.filter((one) => part.hasRead(one.subject)),
      ),
    ],
  };
  const run = await beginRun(engine, fresh, { by });
  try {
    const acting = await actContext(engine, run, rules, run.mode);
    acting.counts.failures = await store.failuresOfRun(whole.id);
    const seen = operatorStateSeen(run, openState, pulled, engine.settings);
    const plain = commitOf(run, rules, pulled, input, made, seen);
    const commit = { ...plain, findings: { ...plain.findings, check: found } };
    await store.commitRun(commit);
    await keepHistory(engine, run, rules, pulled, input, commit);
    takeOverLookBacks(pulled);
    logOperatorState(engine.log, run, seen);
    await actOn(engine, afterPull(acting, engine, rules, pulled), openState, made);
    await completeRun(engine, run, pulled);
  } catch (error) {
    await abortRun(engine, run, error);
    throw error;
  }
  return { found, isRepeat: false, run: run.seq, undos: await undosOf(engine, found) };
}

/** Errors: AppError `not_found`. */
function demandOwner({ subject, owners }: Pick<CheckFound, 'subject' | 'owners'>, owner: string | undefined): void {
  if (owner === undefined || owners.some((one) => one.toLowerCase() === owner.toLowerCase())) return;
  throw new AppError(
    'not_found',
    `${subject.kind} \`${subject.id}\` is no longer one of \`${owner}\`: nothing was done`,
  );
}

/** Of the last minute, also by another process. One that broke off is asked again. */
async function lastCheck(
  { store, clock }: Pick<Engine, 'store' | 'clock'>,
  { kind, id }: SubjectRef,
): Promise<Pick<Checked, 'found' | 'run'> | undefined> {
  const now = clock.nowMs();
  for (let before: number | undefined; ; ) {
    const runs = await store.runs(RUNS_AT_ONCE, before);
    for (const { seq, status, startedAt, findings } of runs) {
      if (Math.abs(now - startedAt) >= CHECK_EVERY_MS) return undefined;
      const found = status === 'completed' && startedAt <= now ? findings?.check : undefined;
      if (found?.subject.kind === kind && found.subject.id === id) return { found, run: seq };
    }
    before = runs.at(-1)?.seq;
    if (before === undefined) return undefined;
  }
}

/** Events are read by looks and whole runs, which judge all that they name: rules that count them are left to these. */
function ofKind({ rules }: Standing, kind: SubjectKind): RunRules {
  const own = rules.rules.filter((rule) => rule.subject === kind && !countsEvents(rule));
  return { ...rules, rules: own };
}

/** All devices of its serial number: an action on one hits them all. Errors: AppError `api_answer` for a record of it that cannot be read. */
async function readNow(api: Lookups, { kind, id, serial }: Identity): Promise<Facts[]> {
  const own = async (): Promise<(Facts | undefined)[]> => {
    if (kind === 'user') return [await api.user(id, RECORDS_MAX)];
    if (kind === 'service') return [await api.service(id, RECORDS_MAX)];
    return serial ? api.devicesOfSerial(serial, RECORDS_MAX) : [await api.device(id, RECORDS_MAX)];
  };
  const records = (await own()).filter((record) => record !== undefined);
  const readable = records.filter((record) => readRecord(SOURCE_OF[kind], record).ok);
  const isOwn = (record: Facts) => {
    const summary = summaryOf(kind, record);
    return kind === 'user' ? summary.id.toLowerCase() === id.toLowerCase() : summary.id === id;
  };
  if (readable.length < records.length)
    throw new AppError('api_answer', `the record of ${kind} \`${id}\` cannot be read: nothing was judged`);
  return readable.some(isOwn) ? readable.map((record) => dropSecrets(record, new Set())) : [];
}

type Judgements = Awaited<ReturnType<typeof partSnapshot>>['pulled']['judgements'];

function judgedRules(
  rules: readonly Rule[],
  judgements: Judgements,
  before: readonly Episode[],
  after: ReadonlyMap<string, Episode>,
): CheckedRule[] {
  const byId = new Map(rules.map((rule) => [rule.id, rule]));
  const episodeOf = (rule: string, id: string) => {
    const own = before.filter((one) => one.rule === rule && one.subject.id === id);
    return own.find(({ state }) => state !== 'closed') ?? own.at(-1);
  };
  return judgements.flatMap(({ matches, open }) =>
    [...matches.map((one) => ({ ...one, verdict: 'match' as const, missing: [] })), ...open].flatMap((seen) => {
      const rule = byId.get(seen.rule);
      if (!rule) return [];
      const { kind, id } = seen.summary;
      const known = episodeOf(rule.id, id);
      const wasOpen = known !== undefined && known.state !== 'closed';
      const verdict = { match: wasOpen ? 'still' : 'new', no_match: 'mended' } as const;
      const now = seen.verdict === 'match' || seen.verdict === 'no_match' ? verdict[seen.verdict] : 'unknown';
      const missing = seen.missing.length > 0 ? `not known: ${seen.missing.join(', ')}` : 'it could not be judged';
      const times = Object.values(seen.reported ?? {}).filter((atMs) => atMs !== null);
      const reportedAt = times.length === 0 ? undefined : Math.max(...times);
      const ending = now === 'mended' && known ? endingOf(rule, after.get(known.id) ?? known) : NO_ENDING;
      return {
        rule: rule.id,
        title: rule.title,
        subject: { kind, id },
        verdict: now,
        facts: seen.verdict === 'match' ? seen.facts : {},
        reportedAt,
        ...ending,
        why: now === 'unknown' ? missing : ending.why,
      };
    }),
  );
}

type Ending = Pick<CheckedRule, 'hasEnded' | 'endsAt' | 'why'>;
const NO_ENDING: Ending = { hasEnded: false, endsAt: undefined, why: undefined };

function endingOf({ clearForMs }: Rule, { state, stateSince }: Episode): Ending {
  if (state === 'closed') return { ...NO_ENDING, hasEnded: true };
  if (state !== 'clearing')
    return { ...NO_ENDING, why: 'the report of the platform is not newer than the one that it was found by' };
  if (clearForMs === 0)
    return { ...NO_ENDING, why: 'the platform does not say when its report was made: a second reading has to show it' };
  const endsAt = stateSince + clearForMs;
  return { hasEnded: false, endsAt, why: `it is over at ${isoTime(endsAt)} if it stays so` };
}

/** With an open episode, and left to whole runs. */
function unjudgedRules(active: readonly Rule[], judged: readonly Rule[], episodes: readonly Episode[]): CheckedRule[] {
  return episodes.flatMap(({ rule: id, subject, state }) => {
    const rule = active.find((one) => one.id === id);
    if (!rule || state === 'closed' || judged.includes(rule)) return [];
    const why = countsEvents(rule) ? 'it counts events or signals' : 'only a whole run judges it';
    const { title } = rule;
    const none = { facts: {}, reportedAt: undefined, ...NO_ENDING };
    return [{ ...none, rule: id, title, subject, verdict: 'unknown', why: `${why}: the next run tells` }];
  });
}

async function undosOf({ store }: Pick<Engine, 'store'>, { rules }: CheckFound): Promise<DecisionNow[]> {
  const subjectIds = [...new Set(rules.map(({ subject }) => subject.id))];
  if (subjectIds.length === 0) return [];
  const all = await store.decisions({ subjectIds, limit: DECISIONS_MAX });
  return all.filter(({ verdict, endedSeq }) => verdict === 'no_match' && endedSeq === undefined);
}
