// run: what a run must read for exemptions and actions, beyond the sources of its rules. In: exemptions in force, rules, traits. Out:
// sources and forms. Single records are read again before each call; a run reads them so that a dry run shows the same answers.

import { clip, NAME_MAX } from '../../base/text.ts';
import { epochMsOf, type SteadyReading } from '../../base/time.ts';
import { type ActionName, type KnownTraits, kindOfTarget } from '../../domain/action.ts';
import { lineOf } from '../../domain/errors.ts';
import { AUDIT_EVENT, type NamedAct, type TrustEvent } from '../../domain/event.ts';
import { type Facts, own } from '../../domain/facts.ts';
import {
  type FactChange,
  LOOK_BACK_GAP_MS,
  type LookBack,
  type LookBackItem,
  type LookBackPaths,
  type LookBackRun,
  type LookBackSource,
} from '../../domain/look-back.ts';
import type { Log } from '../../domain/ports.ts';
import { type HistoryReader, isMomentary, type RecordedRun, type RunFrame } from '../../domain/recorded-history.ts';
import type { Rule } from '../../domain/rule.ts';
import type { OpenState } from '../../domain/store.ts';
import {
  type Fleet,
  SOURCE_OF,
  type Source,
  SUBJECT_KINDS,
  type SubjectKind,
  type SubjectRef,
} from '../../domain/subjects.ts';
import type { Evaluator } from '../../domain/verdict.ts';
import type { Exemptions } from '../decide/exemptions.ts';
import { NamedActs, shownBy } from '../decide/reversals.ts';
import type { PullEngine } from './engine.ts';

/** No rule reads users, but who owns a device decides whether it is exempt. */
export function needsExemptOwners(exemptions: Exemptions, sources: ReadonlySet<Source>): boolean {
  return exemptions.asksForOwnerRecords && sources.has('devices') && !sources.has('users');
}

/**
 * Sources to read in the unpaged form, whatever the rules read: only this form shows a device's owners and a user's devices.
 * This may be a source that no rule reads: a user's device is deleted only if nobody else owns it, and an exemption may protect either.
 */
export function unpagedForActions(rules: readonly Rule[], actions: KnownTraits): ReadonlySet<'devices' | 'users'> {
  return new Set(
    rules.flatMap((rule) => rule.then.flatMap(({ action }) => actions.get(action)?.unpaged?.(rule) ?? [])),
  );
}

/** Whether the list of bundles is needed to see if a target is in its state, or was reversed, for some of these actions. */
export function readsBundles(named: readonly { action: ActionName }[], actions: KnownTraits): boolean {
  return named.some(({ action }) => actions.get(action)?.readsBundles);
}

/** Whether a rule's actions delete devices, or users' mappings to them: only whole lists show what they take. */
export function asksForWholeLists({ then }: Pick<Rule, 'then'>, actions: KnownTraits): boolean {
  return then.some(({ action }) => actions.get(action)?.deletesDevices);
}

// Recorded runs as rules that look back take them over, one after another. In: runs of the history. Out: what each saw
// of a few paths. It leaves out readings that were not trusted: they hold for their run alone. INVARIANT: a live run
// takes over the same.

export class SeenByRuns {
  private readonly kinds: readonly SubjectKind[];
  /** Changes that no run has taken over yet. */
  private later: FactChange[] = [];

  /** `only`: absent: all subjects. */
  constructor(
    private readonly paths: LookBackPaths,
    private readonly only?: SubjectRef,
  ) {
    this.kinds = SUBJECT_KINDS.filter((kind) => paths.has(kind));
  }

  /** Of other paths and subjects, nothing is kept. */
  wanted(changes: Iterable<FactChange>): FactChange[] {
    return [...this.wantedOf(changes)];
  }

  private *wantedOf(changes: Iterable<FactChange>): Iterable<FactChange> {
    const { paths, only } = this;
    for (const change of changes) {
      const { kind, subject, path } = change;
      if (only && (only.kind !== kind || only.id !== subject)) continue;
      if (path === '' ? paths.has(kind) : paths.get(kind)?.has(path)) yield change;
    }
  }

  /** What the next run that reads these subjects sees. */
  willSee(changes: Iterable<FactChange>): void {
    for (const change of this.wantedOf(changes)) this.later.push(change);
  }

  /** All facts are given anew. */
  begin(): void {
    this.later = [];
  }

  /**
   * A look also records who is joined to its subjects: rules see these, and the next whole run takes them over. `sources`: as these rules trust them.
   */
  take(
    { frame, changes }: Pick<RecordedRun, 'frame' | 'changes'>,
    sources: RecordedRun['frame']['sources'] = frame.sources,
  ): LookBackRun {
    const { part, run } = frame;
    const read = this.kinds.filter((kind) => {
      const { state, trusted } = frame.sources[SOURCE_OF[kind]];
      return state === 'read' && trusted && sources[SOURCE_OF[kind]].trusted;
    });
    const singly = part?.read.filter(({ kind }) => read.includes(kind)) ?? [];
    const own = part && new Set(singly.map(({ kind, id }) => `${kind} ${id}`));
    const isSeen = ({ kind, subject }: FactChange) => (own ? own.has(`${kind} ${subject}`) : read.includes(kind));
    for (const change of this.wantedOf(changes)) if (!isMomentary(frame, change.kind)) this.later.push(change);
    const seen = this.later.filter(isSeen);
    if (this.later.length > 0) this.later = this.later.filter((change) => !isSeen(change));
    const isShown = (kind: SubjectKind, path: string) => frame.shows.get(kind)?.has(path) ?? false;
    const unseen = this.kinds.map(
      (kind) => [kind, new Set([...(this.paths.get(kind) ?? [])].filter((path) => !isShown(kind, path)))] as const,
    );
    return { atMs: run.startedAt, read: part ? [] : read, singly, changes: seen, unseen: new Map(unseen) };
  }
}

// The history as rules that look back read it: the changes of a few paths, and which lists were read and trusted.

type Items = Pick<HistoryReader, 'items'>;

/** `settled`: waits for what is being recorded. */
export function recordedLookBack(reader: Items, settled: () => Promise<void> = async () => {}): LookBackSource {
  return {
    async *items(paths, fromMs, subject): AsyncIterable<LookBackItem> {
      await settled();
      yield* itemsBefore(reader, { paths, fromMs, seen: new SeenByRuns(paths, subject) });
    },
  };
}

interface FilledBefore {
  /** What the next runs go on with: some of what was seen they are to take over. */
  seen: SeenByRuns;
  /** When the record begins, if that is later than the rules look back and there were runs before. */
  beginsMs: number | undefined;
}

/** What rules knew of the past when a recorded run began: as a process knows it that reads the history then. Errors: those of the reader. */
export async function fillBefore(
  reader: Items,
  lookBack: LookBack,
  run: RunFrame['run'],
  subject?: SubjectRef,
): Promise<FilledBefore> {
  let first = run;
  const seen = new SeenByRuns(lookBack.paths, subject);
  const fromMs = Math.max(0, run.startedAt - lookBack.withinMs - LOOK_BACK_GAP_MS);
  lookBack.observe({ kind: 'anew' });
  const onRun = (one: RunFrame['run']) => {
    if (one.seq < first.seq) first = one;
  };
  for await (const item of itemsBefore(reader, { paths: lookBack.paths, fromMs, seen, runId: run.id, onRun }))
    lookBack.observe(item);
  lookBack.filled();
  const isLater = first.seq > 1 && first.startedAt > fromMs + LOOK_BACK_GAP_MS;
  return { seen, beginsMs: isLater ? first.startedAt : undefined };
}

interface Asked {
  paths: LookBackPaths;
  fromMs: number;
  seen: SeenByRuns;
  /** Where to end; undefined: with the last run. */
  runId?: string;
  onRun?(run: RunFrame['run']): void;
}

async function* itemsBefore(reader: Items, { paths, fromMs, seen, runId, onRun }: Asked): AsyncIterable<LookBackItem> {
  for await (const item of reader.items({ fromMs, toMs: Number.MAX_SAFE_INTEGER, facts: paths, factsOnly: true })) {
    if (item.kind === 'run') {
      if (item.run.frame.run.id === runId) return;
      onRun?.(item.run.frame.run);
      yield { kind: 'run', run: seen.take(item.run) };
    } else if (item.kind === 'state') {
      // After other gaps nothing is lost: missing runs are as no runs, and a person whose records were removed hides nothing of the others.
      seen.begin();
      yield { kind: 'anew' };
      for await (const facts of item.facts) yield { kind: 'state', facts: seen.wanted(facts) };
    }
  }
}

export function project(record: Facts, paths: readonly string[]): Facts {
  const kept: Facts = {};
  for (const path of paths) {
    const top = path.split('.')[0] as string;
    const value = own(record, top);
    if (value !== undefined)
      Object.defineProperty(kept, top, { value, enumerable: true, configurable: true, writable: true });
  }
  return kept;
}

// What a pass keeps of users and devices for the sources that are read after them.

export class KeptRecords {
  readonly users = new Map<string, Facts>();
  readonly devices = new Map<string, Facts[]>();
  readonly exemptOwners = new Map<string, Facts>();

  constructor(
    private readonly evaluator: Evaluator,
    private readonly exemptions: Exemptions,
  ) {}

  /** Keeps of a joined record only what some rule reads. */
  joiner(source: Source): ((record: Facts) => void) | undefined {
    const { needs } = this.evaluator;
    if (source === 'users' && needs.owners) {
      this.users.clear();
      const paths = this.evaluator.joinedPaths('users');
      return (record) => keepUser(this.users, record, project(record, paths));
    }
    if (source === 'devices' && needs.devices) {
      this.devices.clear();
      const paths = this.evaluator.joinedPaths('devices');
      const ids = new Map<string, string[]>();
      return (record) => {
        const serial = String(own(record, 'SerialNumber'));
        const id = String(own(record, 'DeviceID'));
        const known = ids.get(serial) ?? [];
        // By id: the order of the list decides nothing.
        const at = known.filter((other) => other <= id).length;
        ids.set(serial, known.toSpliced(at, 0, id));
        this.devices.set(serial, (this.devices.get(serial) ?? []).toSpliced(at, 0, project(record, paths)));
      };
    }
    return undefined;
  }

  /** Keeps users that some exemption covers, to find their devices. */
  exemptKeeper(source: Source): ((record: Facts) => void) | undefined {
    if (source !== 'users' || !this.exemptions.asksForOwnerRecords) return undefined;
    this.exemptOwners.clear();
    return (record) => {
      if (!this.exemptions.concernsUser(record)) return;
      keepUser(this.exemptOwners, record, projectedOwner(record));
    };
  }
}

/** Of two addresses that differ in case alone the greater one counts: the order of the list decides nothing. */
function keepUser(kept: Map<string, Facts>, record: Facts, projected: Facts): void {
  const email = String(own(record, 'Email'));
  const known = kept.get(email.toLowerCase());
  if (known === undefined || String(own(known, 'Email')) <= email) kept.set(email.toLowerCase(), projected);
}

/** What exemptions are compared with. */
export function projectedOwner(record: Facts): Facts {
  return project(record, ['Email', 'Name', 'Groups']);
}

// What the event log names others to have done to subjects that Trustward has claims on. In: the events of the last
// pulls and of this one, open claims. Out: acts, the oldest first. It makes no request. INVARIANT: nothing of our own
// is among them, so that a replay, which decides other things, does not take it for somebody else's.

/** The server writes the record and the event of one change one after the other. */
const WRITE_MARGIN_MS = 2_000;

interface NamedActsAsked {
  engine: Pick<PullEngine, 'api' | 'store' | 'actions' | 'quiet' | 'settings'>;
  openState: OpenState;
  steady: SteadyReading;
  /** Events that are read and not stored yet. */
  fresh: readonly TrustEvent[];
  services: ServiceChanges;
  fleet: Pick<Fleet, 'devicesOf'>;
}

/** Targets of open claims by the subjects that show them. */
type Claimed = ReadonlyMap<string, ReadonlySet<string>>;

/** Without the server's time, its events cannot be set against our own acts: there are none. */
export async function readNamedActs(asked: NamedActsAsked): Promise<NamedAct[]> {
  const { engine, openState, steady, fresh } = asked;
  const aheadMs = engine.api.skewMs();
  const claimed = claimedSubjects(asked);
  if (aheadMs === undefined || claimed.size === 0) return [];
  const named = new NamedActs([], { openState, steady, quietMs: engine.quiet.read().ms });
  const isOthers = (act: NamedAct, targets: ReadonlySet<string>) =>
    [...targets].every((target) => named.isAfterOurs(act, target));
  const found = new Map<string, NamedAct>();
  const note = (event: TrustEvent) => {
    const act = actOf(event, asked, aheadMs);
    const targets = act && claimed.get(`${act.subject.kind} ${act.subject.id}`);
    if (targets && isOthers(act, targets)) found.set(act.event, act);
  };
  const sinceMs = Math.floor((await fromMs(engine, steady.nowMs)) + aheadMs);
  for await (const batch of engine.store.events(sinceMs, AUDIT_EVENT)) for (const event of batch) note(event);
  for (const event of fresh) note(event);
  return [...found.values()].toSorted((a, b) => a.atMs - b.atMs);
}

/** Since the last trusted readings: with the margin within which the log may have been behind. */
async function fromMs({ store, settings }: NamedActsAsked['engine'], nowMs: number): Promise<number> {
  const takenAt = await Promise.all(
    (['devices', 'services'] as const).map(async (source) => (await store.baseline(source))?.takenAt ?? nowMs),
  );
  return Math.min(...takenAt) - settings.events.overlapMs;
}

function claimedSubjects({ engine, openState, fleet }: NamedActsAsked): Claimed {
  const kinds = new Map(openState.episodes.map(({ id, subject }) => [id, subject.kind]));
  const claimed = new Map<string, Set<string>>();
  for (const { action, episodeId, subjectId, target } of openState.claims) {
    const [traits, kind] = [engine.actions.get(action), kinds.get(episodeId)];
    if (traits?.auditedAs === undefined || kind === undefined) continue;
    for (const one of shownBy({ kind, id: subjectId }, traits, target, fleet)) {
      const key = `${one.kind} ${one.id}`;
      claimed.set(key, (claimed.get(key) ?? new Set()).add(target));
    }
  }
  return claimed;
}

function actOf(event: TrustEvent, { engine, services }: NamedActsAsked, aheadMs: number): NamedAct | undefined {
  // A signal is somebody else's word, whatever it is called.
  if (event.type !== AUDIT_EVENT || event.transmitter !== undefined) return undefined;
  const traits = [...engine.actions.values()].find(({ auditedAs }) => auditedAs === event.action);
  const kind = traits && kindOfTarget(traits);
  const id = kind === 'device' ? event.deviceId : kind === 'service' ? event.serviceId : undefined;
  if (!traits || !kind || id === undefined) return undefined;
  if (kind === 'service' && !services.wasChanged(id, event.createdAtMs)) return undefined;
  const by = event.email && clip(event.email, NAME_MAX);
  return { event: event.id, atMs: event.createdAtMs - aheadMs, subject: { kind, id }, action: traits.name, by };
}

/** The own sign of services: when they were last changed. Records of devices have none. */
export class ServiceChanges {
  private readonly changedAt = new Map<string, number>();

  accept(record: Facts): void {
    const [id, at] = [own(record, 'ServiceID'), own(record, 'LastUpdatedAt')];
    const ms = typeof at === 'bigint' || typeof at === 'number' ? epochMsOf(at) : undefined;
    if (typeof id === 'string' && ms !== undefined) this.changedAt.set(id, ms);
  }

  /** Whether the record was changed at that time of the server or later: what an event alone says of it is not believed. */
  wasChanged(id: string, atMs: number): boolean {
    const changedAt = this.changedAt.get(id);
    return changedAt !== undefined && changedAt >= atMs - WRITE_MARGIN_MS;
  }
}

/** `subject`: only this one is judged afterwards; absent: all. */
export async function fillLookBack(
  { lookBack: source, log }: { lookBack?: LookBackSource | undefined; log?: Log | undefined },
  { lookBack }: Pick<Evaluator, 'lookBack'>,
  nowMs: number,
  subject?: SubjectRef,
): Promise<void> {
  if (!source || !lookBack || lookBack.isFilled) return;
  const fromMs = Math.max(0, nowMs - lookBack.withinMs - LOOK_BACK_GAP_MS);
  lookBack.observe({ kind: 'anew' });
  try {
    for await (const item of source.items(lookBack.paths, fromMs, subject)) lookBack.observe(item);
    lookBack.filled();
  } catch (error) {
    lookBack.observe({ kind: 'anew' });
    log?.warn({}, `the history could not be read, so that rules that look back are unknown: ${lineOf(error)}`);
  }
}
