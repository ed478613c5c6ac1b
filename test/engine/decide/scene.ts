// test: a scene: a fleet, rules and what was decided before, played through rounds of the real decide. Its memory stands in
// for the store and its fleet for the platform; what an act does to the fleet is scripted by `outcomes`.

import { type ActionName, CEILINGS_DEFAULT, type CeilingSettings } from '../../../src/domain/action.ts';
import type { Decision, Outcome, StoredDecision } from '../../../src/domain/decision.ts';
import { intentKey } from '../../../src/domain/digest.ts';
import { type Claim, type Episode, seenKey } from '../../../src/domain/episode.ts';
import type { Intent } from '../../../src/domain/intent.ts';
import { isLive, type Mode, type Rule, rulesById } from '../../../src/domain/rule.ts';
import type { SourceReading } from '../../../src/domain/snapshot.ts';
import { attemptKey } from '../../../src/domain/store.ts';
import { type FleetDevice, SOURCES, type Source, type SubjectSummary } from '../../../src/domain/subjects.ts';
import type { Judgement, VerdictName } from '../../../src/domain/verdict.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { openIntent } from '../../../src/engine/act/gate.ts';
import { decide } from '../../../src/engine/decide/decide.ts';
import { PLACEHOLDER_SERIALS } from '../../../src/engine/decide/earlier-answers.ts';
import type { Decided, DecideInput } from '../../../src/engine/decide/input.ts';
import { countingIds } from '../../support/engine-on-platform.ts';
import { HOUR, type SceneSubject, summaryOf, T0 } from './builders.ts';

export class Scene {
  nowMs = T0;
  rules: Rule[];
  readonly subjects = new Map<string, SceneSubject>();
  readonly episodes = new Map<string, Episode>();
  readonly claims = new Map<string, Claim>();
  readonly intents = new Map<string, Intent>();
  readonly decisions = new Map<string, StoredDecision>();
  readonly rejected = new Set<string>();
  readonly attempts: { rules: readonly string[]; action: ActionName; target: string; at: number }[] = [];
  readonly readings: Partial<Record<Source, Partial<SourceReading>>> = {};
  /** Rules of this run that could not be judged. */
  unjudged: string[] = [];
  ceilings: CeilingSettings = CEILINGS_DEFAULT;
  quietMs = 15_000;
  /** What the own records of targets show that lists show otherwise; undefined: no list was read, which is then believed. */
  ownReads: DecideInput['ownReads'];
  /** The wall clock was seen to jump then, and runs with the monotonic one for so long. */
  jumpedAtMs = Number.NEGATIVE_INFINITY;
  agreedForMs = 0;
  /** By subject: the verdicts of its last report, and when MDM made that, by a clock of its own. */
  private readonly reports = new Map<string, { verdicts: string; atMs: number }>();
  /** What becomes of the acts on a target: `succeeded` when nothing is said. */
  readonly outcomes = new Map<string, Outcome>();
  private readonly ids = countingIds();

  constructor(...rules: Rule[]) {
    this.rules = rules;
  }

  device(id: string, fields: Partial<SceneSubject> = {}): SceneSubject {
    const subject: SceneSubject = {
      kind: 'device',
      serial: `S-${id}`,
      state: 'FALSE',
      model: 'M1',
      platform: 'macOS',
      owners: undefined,
      verdicts: {},
      present: true,
      ...fields,
    };
    this.subjects.set(id, subject);
    return subject;
  }

  service(id: string, fields: Partial<SceneSubject> = {}): SceneSubject {
    return this.device(id, { kind: 'service', serial: '', state: 'TRUE', ...fields });
  }

  devices(count: number, fields: (index: number) => Partial<SceneSubject> = () => ({})): void {
    for (let index = 1; index <= count; index += 1) this.device(`d${index}`, fields(index));
  }

  of(id: string): SceneSubject {
    return this.subjects.get(id) as SceneSubject;
  }

  sees(id: string, verdict: VerdictName, ruleId = this.rules[0]?.id as string): void {
    this.of(id).verdicts[ruleId] = verdict;
  }

  untrusted(source: Source = 'devices'): void {
    this.readings[source] = {
      trusted: false,
      reasons: [{ source, code: 'shrunk', text: `${source}: a fifth is missing` }],
    };
  }

  trustedAgain(source: Source = 'devices'): void {
    delete this.readings[source];
  }

  pass(ms: number): this {
    this.nowMs += ms;
    return this;
  }

  /** Asks decide without remembering anything. */
  decide(runMode: Mode = 'enforce', daemonMode: Mode = 'enforce'): Decided {
    return decide(this.input(runMode, daemonMode));
  }

  /** MDM made the report that runs see from now on at this time. */
  reported(id: string, atMs: number | null): void {
    this.of(id).reportedAt = atMs;
  }

  /** One round: decide, remember, act. Answers what was decided, with every decision in force. */
  run(runMode: Mode = 'enforce', daemonMode: Mode = 'enforce'): Decided & { inForce: StoredDecision[] } {
    const decided = this.decide(runMode, daemonMode);
    this.remember(decided);
    for (const act of decided.acts) if (!act.isUnchanged || isLive(act.mode)) this.carryOut(act);
    return { ...decided, inForce: this.inForce() };
  }

  inForce(): StoredDecision[] {
    return [...this.decisions.values()].filter(({ endedSeq }) => endedSeq === undefined);
  }

  /** Reasons in force, by subject: `d1: act rule_matches`. */
  answers(): string[] {
    return this.inForce()
      .map(({ subject, decision, reason }) => `${subject.id}: ${decision} ${reason}`)
      .sort();
  }

  openClaims(): string[] {
    return [...this.claims.values()]
      .filter(isOpen)
      .map(({ rule: name, target, status }) => `${name} on ${target}: ${status}`);
  }

  episodeOf(subjectId: string): Episode | undefined {
    return [...this.episodes.values()].filter(({ subject }) => subject.id === subjectId).at(-1);
  }

  /** Writes down what a person did at the platform. */
  byHand(serial: string, state: string): void {
    for (const subject of this.subjects.values()) if (subject.serial === serial) subject.state = state;
  }

  private input(runMode: Mode, daemonMode: Mode): DecideInput {
    const unjudged = this.rules.filter(({ id }) => this.unjudged.includes(id));
    return {
      runMode,
      daemonMode,
      nowMs: this.nowMs,
      steady: {
        nowMs: this.nowMs,
        sinceMs: this.jumpedAtMs,
        forMs: this.agreedForMs,
        jumpedMs: this.jumpedAtMs,
        setBackMs: this.jumpedAtMs,
      },
      judged: this.rules.filter((item) => !unjudged.includes(item)),
      unjudged,
      activeRules: rulesById(this.rules.filter(({ mode }) => mode !== 'off')),
      traits: ACTIONS,
      judgements: this.judgements(),
      sources: this.sources(),
      fleet: {
        serialsOf: () => undefined,
        devicesOf: (serial) =>
          this.present('device').flatMap(([id, one]) =>
            one.serial === serial ? [fleetDevice(summaryOf(id, one))] : [],
          ),
      },
      openState: this.openState(),
      ownReads: this.ownReads,
      quietMs: this.quietMs,
      ids: this.ids,
      settings: {
        ceilings: this.ceilings,
        goneAfterMs: 24 * HOUR,
        serialDevicesMax: 5,
        placeholderSerials: PLACEHOLDER_SERIALS,
      },
    };
  }

  private present(kind: SceneSubject['kind']): [string, SceneSubject][] {
    return [...this.subjects].filter(([, subject]) => subject.present && subject.kind === kind);
  }

  private judgements(): Judgement[] {
    return (['device', 'user', 'service'] as const).map((kind) => {
      const judgement: Judgement = { kind, judged: 0, tallies: [], matches: [], open: [], values: {} };
      for (const [id, subject] of this.present(kind)) {
        for (const item of this.rules.filter((one) => one.subject === kind && !this.unjudged.includes(one.id))) {
          const verdict = subject.verdicts[item.id] ?? 'no_match';
          const summary = summaryOf(id, subject);
          const facts = { 'MdmData.CompromisedStatus': verdict === 'match' ? 'TRUE' : 'FALSE' };
          const at = subject.reportedAt === undefined ? this.reportOf(id, subject) : subject.reportedAt;
          const times = item.revert ? (item.reportTimes ?? []) : [];
          const reported = Object.fromEntries(times.map((path) => [path, at]));
          if (verdict === 'match') judgement.matches.push({ rule: item.id, summary, facts, reported });
          else if (this.isWatched(item.id, id))
            judgement.open.push({ rule: item.id, summary, verdict, facts, missing: [], reported });
        }
      }
      return judgement;
    });
  }

  /** There is a new report when what it says has changed. */
  private reportOf(id: string, { verdicts }: SceneSubject): number {
    const before = this.reports.get(id);
    const now = JSON.stringify(verdicts);
    const atMs = (before?.atMs ?? T0) + (before?.verdicts === now ? 0 : 1_000);
    this.reports.set(id, { verdicts: now, atMs });
    return atMs;
  }

  private isWatched(ruleId: string, subjectId: string): boolean {
    const { episodes, claims } = this.openState();
    return (
      episodes.some((episode) => episode.rule === ruleId && episode.subject.id === subjectId) ||
      claims.some((claim) => claim.rule === ruleId && claim.subjectId === subjectId)
    );
  }

  private sources(): Record<Source, SourceReading> {
    const reading = (source: Source): SourceReading => ({
      source,
      state: 'read',
      form: 'paged',
      startedAt: this.nowMs,
      finishedAt: this.nowMs,
      count: this.present(({ devices: 'device', users: 'user', services: 'service', events: 'user' } as const)[source])
        .length,
      unreadable: { count: 0, examples: [] },
      dropped: [],
      trusted: true,
      reasons: [],
      ...this.readings[source],
    });
    return Object.fromEntries(SOURCES.map((source) => [source, reading(source)])) as Record<Source, SourceReading>;
  }

  private openState(): DecideInput['openState'] {
    const claims = [...this.claims.values()].filter(isOpen);
    const claimed = new Set(claims.map(({ episodeId }) => episodeId));
    const episodes = [...this.episodes.values()].filter(({ id, state }) => state !== 'closed' || claimed.has(id));
    const ids = new Set(episodes.map(({ id }) => id));
    return {
      episodes,
      claims,
      decisions: this.inForce(),
      intents: [...this.intents.values()].filter(
        ({ mode, status, outcome, basis }) =>
          mode !== 'dry-run' &&
          status !== 'withdrawn' &&
          (outcome === 'unknown' || outcome === 'parked' || basis.some(({ episodeId }) => ids.has(episodeId))),
      ),
      rejected: this.rejected,
      lastAttempts: new Map(
        this.attempts.flatMap(({ rules, action, target, at }) =>
          rules.map((id) => [attemptKey(id, action, target), at]),
        ),
      ),
      attempts24h: this.attempts
        .filter(({ at }) => at >= this.nowMs - 24 * HOUR)
        .reduce(
          (counts, { action }) => counts.set(action, (counts.get(action) ?? 0) + 1),
          new Map<ActionName, number>(),
        ),
    };
  }

  private remember(decided: Decided): void {
    for (const episode of decided.episodes) this.episodes.set(episode.id, episode);
    for (const claim of decided.claims) this.claims.set(claim.id, claim);
    for (const id of decided.ended)
      this.decisions.set(id, { ...(this.decisions.get(id) as StoredDecision), endedSeq: 1 });
    for (const decision of decided.decisions) this.decisions.set(decision.id, stored(decision, this.nowMs));
  }

  private carryOut({ draft, mode, retryOf }: Decided['acts'][number]): void {
    const before = retryOf === undefined ? undefined : this.intents.get(retryOf);
    const intent = before ?? openIntent(draft, mode, { id: this.ids.next(), runId: 'run', nowMs: this.nowMs });
    const live = isLive(mode);
    const outcome = live ? (this.outcomes.get(draft.target) ?? 'succeeded') : 'dry_run';
    const settled: Intent = { ...intent, status: 'settled', outcome, settledAt: this.nowMs, sentAt: this.nowMs };
    this.intents.set(intent.id, settled);
    if (!live) return;
    this.attempts.push({
      rules: draft.basis.map((item) => item.rule),
      action: draft.action,
      target: draft.target,
      at: this.nowMs,
    });
    if (outcome === 'succeeded') this.takeEffect(settled);
  }

  private takeEffect({ id, action, target, undo, basis }: Intent): void {
    const traits = ACTIONS.get(action);
    if (traits?.fieldWritten === undefined) return;
    for (const [key, subject] of this.subjects) {
      if (subject.serial === target || key === target) subject.state = traits.valueWritten;
    }
    const unseen = traits.inverse && seenKey(traits.inverse, target);
    for (const episode of this.episodes.values())
      this.episodes.set(episode.id, { ...episode, seenSo: episode.seenSo.filter((seen) => seen !== unseen) });
    const taken = [...this.claims.values()].filter(
      (claim) => isOpen(claim) && claim.target === target && claim.action === traits.inverse,
    );
    for (const claim of taken) this.claims.set(claim.id, { ...claim, status: 'ended', endedAt: this.nowMs });
    if (undo || taken.length > 0) return;
    for (const { episodeId, rule: name, subjectId } of basis) {
      const claim = {
        id: this.ids.next(),
        episodeId,
        rule: name,
        subjectId,
        action,
        target,
        intentId: id,
        openedAt: this.nowMs,
      };
      this.claims.set(claim.id, { ...claim, status: 'standing', endedAt: undefined });
    }
  }

  /** A person rejects what is planned for a target. */
  reject(decided: Decided, target: string): void {
    for (const planned of decided.planned.filter((item) => item.target === target)) {
      for (const one of planned.basis) this.rejected.add(intentKey({ ...planned, basis: [one] }));
    }
  }
}

function isOpen({ status }: Claim): boolean {
  return status === 'standing' || status === 'orphaned';
}

function stored(decision: Decision, writtenAt: number): StoredDecision {
  return { ...decision, runId: 'run', runSeq: 1, writtenAt, endedSeq: undefined };
}

function fleetDevice({ id, name, platform, model, owners, state }: SubjectSummary): FleetDevice {
  return { id, name, platform, model, owners, state };
}
