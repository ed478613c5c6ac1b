// support: a recorded past, written down by hand: what was there at each run, what people did, what is missing. In: records, as the API has them.
// Out: a reader of it, as the segments have one. Facts are told as the recorder tells them: leaves by dotted path, a list is one value.

import { CEILINGS_DEFAULT } from '../../src/domain/action.ts';
import type { TrustEvent } from '../../src/domain/event.ts';
import { type Fact, type Facts, isFacts } from '../../src/domain/facts.ts';
import type { FactChange } from '../../src/domain/look-back.ts';
import type {
  HistoryGap,
  HistoryItem,
  HistoryReader,
  RecordedRun,
  RunFrame,
} from '../../src/domain/recorded-history.ts';
import type { SourceReading, TrustReason } from '../../src/domain/snapshot.ts';
import type { OpenState } from '../../src/domain/store.ts';
import {
  SOURCE_OF,
  SOURCES,
  type Source,
  SUBJECT_KINDS,
  type SubjectKind,
  type SubjectRef,
} from '../../src/domain/subjects.ts';
import { mergePatch } from '../../src/engine/act/actions/update-service.ts';
import { ACTIONS } from '../../src/engine/act/actions.ts';
import { PLACEHOLDER_SERIALS } from '../../src/engine/decide/earlier-answers.ts';
import { TRUST_DEFAULT, type TrustSettings } from '../../src/engine/pull/trust-gate.ts';
import { sampleRecord } from '../../src/rules/facts/fact-list.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../src/rules/load/read-rule.ts';

export const T0 = Date.UTC(2027, 0, 10, 8);
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** Tests turn whole small fleets. */
const UNGATED: TrustSettings = {
  ...TRUST_DEFAULT,
  movedPoints: 100,
  shrunkPercent: 100,
  driftDayPercent: 100,
  driftWeekPercent: 100,
};

export const NOTHING_OPEN: OpenState = {
  episodes: [],
  claims: [],
  decisions: [],
  intents: [],
  rejected: new Set(),
  lastAttempts: new Map(),
  attempts24h: new Map(),
};

/** What one run is told to be; all else is as in a quiet whole run that could read and trust everything. */
export interface RunSaid extends Partial<Omit<RecordedRun, 'frame'>> {
  frame?: Partial<RunFrame>;
  run?: Partial<RunFrame['run']>;
  sources?: Partial<Record<Source, Partial<SourceReading>>>;
}

const KEY = { device: 'DeviceID', user: 'Email', service: 'ServiceID' } as const;

export class Recording {
  nowMs = T0;
  seq = 0;
  readonly items: HistoryItem[] = [];
  /** What holds from the next run on, in every run. */
  openState: OpenState = NOTHING_OPEN;
  /** Paths that records of the form that is read never show. */
  readonly hidden = new Set<string>();
  private trust = UNGATED;
  private readonly records: Record<SubjectKind, Map<string, Facts>> = {
    device: new Map(),
    user: new Map(),
    service: new Map(),
  };
  private readonly paths = { device: new Set<string>(), user: new Set<string>(), service: new Set<string>() };
  private told = new Map<string, FactChange>();
  private events: TrustEvent[] = [];
  private hasState = false;

  device(id: string, given: Facts = {}): this {
    return this.put('device', id, {
      SerialNumber: `S-${id}`,
      DeviceFriendlyName: `name of ${id}`,
      Emails: [`owner-of-${id}@example.com`],
      ...given,
    });
  }

  devices(count: number, given: (number: number) => Facts = () => ({})): this {
    for (let number = 1; number <= count; number += 1) this.device(`d${number}`, given(number));
    return this;
  }

  user(email: string, given: Facts = {}): this {
    return this.put('user', email, given);
  }

  service(id: string, given: Facts = {}): this {
    return this.put('service', id, { ServiceName: `name of ${id}`, ...given });
  }

  /** Changes a record that is there; `null` takes a field away. */
  now(kind: SubjectKind, id: string, given: Facts): this {
    const record = this.records[kind].get(id);
    if (!record) throw new Error(`no ${kind} ${id}`);
    // What MDM says comes with the time of a new report.
    const { MdmData } = given;
    const told = MdmData ? { ...given, MdmData: { Timestamp: this.nowMs, ...(MdmData as Facts) } } : given;
    this.records[kind].set(id, mergePatch(record, told) as Facts);
    return this;
  }

  /** From now on lists are compared with the ones before. */
  gate(trust: TrustSettings): this {
    this.trust = trust;
    return this;
  }

  /** Takes a record out of its list; see `give`. */
  take(kind: SubjectKind, id: string): Facts {
    const record = this.records[kind].get(id);
    if (!record) throw new Error(`no ${kind} ${id}`);
    this.records[kind].delete(id);
    return record;
  }

  give(kind: SubjectKind, id: string, record: Facts): this {
    this.records[kind].set(id, record);
    return this;
  }

  gone(kind: SubjectKind, id: string): this {
    this.records[kind].delete(id);
    return this;
  }

  event(fields: Partial<TrustEvent>): this {
    this.events.push({
      id: `event-${this.nowMs}-${this.events.length}`,
      createdAtMs: this.nowMs,
      deviceId: undefined,
      serialNumber: undefined,
      email: undefined,
      serviceId: undefined,
      serviceName: undefined,
      type: 'ACCESS',
      subType: '',
      action: '',
      severity: 'INFO',
      result: 'SUCCESS',
      body: {},
      ...fields,
    });
    return this;
  }

  pass(ms: number): this {
    this.nowMs += ms;
    return this;
  }

  /** A run at this time; then five minutes pass. */
  run(said: RunSaid = {}): this {
    this.seq += 1;
    const facts = this.facts();
    if (!this.hasState) this.state(facts);
    const changes = said.changes ?? differences(this.told, facts);
    this.told = facts;
    const { frame, run, sources, changes: _changes, ...rest } = said;
    this.items.push({
      kind: 'run',
      run: {
        frame: { ...this.frame(sources), ...frame, run: { ...this.runOf(), ...frame?.run, ...run } },
        changes,
        events: this.events,
        openState: this.openState,
        written: [],
        ended: [],
        ...rest,
      },
    });
    this.events = [];
    return this.pass(5 * MINUTE);
  }

  runs(count: number, said: RunSaid = {}): this {
    for (let number = 0; number < count; number += 1) this.run(said);
    return this;
  }

  /** Nothing is recorded of this stretch. */
  gap(ms: number, cause: HistoryGap['cause'] = 'not_recorded'): this {
    const gap = { fromMs: this.nowMs, toMs: this.nowMs + ms, cause, text: `${cause} for ${ms} ms` };
    this.items.push({ kind: 'gap', gap });
    this.hasState = false;
    return this.pass(ms);
  }

  reader(): HistoryReader {
    const { items } = this;
    const runs = items.flatMap((item) => (item.kind === 'run' ? item.run.frame.run.startedAt : []));
    return {
      async *items() {
        yield* items;
      },
      span: async () => (runs.length > 0 ? { fromMs: runs[0] as number, toMs: runs.at(-1) as number } : undefined),
      factsAt: async (subject, atMs) => {
        const told = await changesOf(items, subject);
        const until = told.filter((change) => change.atMs <= atMs);
        const facts = factsAfter(until);
        // Each run reads everything.
        const seen = items.flatMap((item) => (item.kind === 'run' ? item.run.frame.run.startedAt : []));
        const seenAt = seen.findLast((at) => at <= atMs);
        return facts && seenAt !== undefined ? { facts, seenAt } : undefined;
      },
      async *changesOf(subject, fromMs, toMs) {
        for (const change of await changesOf(items, subject))
          if (change.atMs >= fromMs && change.atMs <= toMs) yield change;
      },
      ruleSet: async (hash) =>
        items.flatMap((item) => (item.kind === 'run' ? (item.run.ruleSet ?? []) : [])).find((set) => set.hash === hash),
    };
  }

  private put(kind: SubjectKind, id: string, given: Facts): this {
    const sample = sampleRecord(kind, this.nowMs, this.records[kind].size + 1);
    this.records[kind].set(id, mergePatch(sample, { [KEY[kind]]: id, ...given }) as Facts);
    return this;
  }

  private facts(): Map<string, FactChange> {
    const all = new Map<string, FactChange>();
    for (const kind of SUBJECT_KINDS) {
      for (const [subject, record] of this.records[kind]) {
        for (const [path, value] of leavesOf(record))
          all.set(JSON.stringify([kind, subject, path]), { kind, subject, path, value });
      }
    }
    return all;
  }

  private state(facts: Map<string, FactChange>): void {
    this.hasState = true;
    this.told = facts;
    const [state, events] = [[...facts.values()], this.events];
    this.events = [];
    this.items.push({ kind: 'state', atMs: this.nowMs, facts: eachTime([state]), events: eachTime([events]) });
  }

  private runOf(): RunFrame['run'] {
    return {
      id: `run-${this.seq}`,
      seq: this.seq,
      mode: 'enforce',
      daemonMode: 'enforce',
      trigger: 'schedule',
      rules: [],
      ruleSetHash: 'hash of the rules',
      startedAt: this.nowMs,
      finishedAt: this.nowMs,
      status: 'completed',
      error: undefined,
      demo: false,
    };
  }

  private frame(sources: RunSaid['sources'] = {}): Omit<RunFrame, 'run'> {
    const never = Number.NEGATIVE_INFINITY;
    return {
      steady: { nowMs: this.nowMs, sinceMs: never, forMs: 0, jumpedMs: never, setBackMs: never },
      quietMs: 15_000,
      freeze: undefined,
      settings: {
        ceilings: CEILINGS_DEFAULT,
        goneAfterMs: DAY,
        serialDevicesMax: 5,
        placeholderSerials: PLACEHOLDER_SERIALS,
        credential: undefined,
        lists: 'v1',
        trust: { ...this.trust },
      },
      activeRules: [],
      judged: [],
      unjudged: [],
      sources: Object.fromEntries(
        SOURCES.map((source) => [source, { ...this.reading(source), ...sources[source] }]),
      ) as Record<Source, SourceReading>,
      decidedOn: undefined,
      coverage: [{ fromMs: T0 - 30 * DAY, toMs: this.nowMs }],
      unavailable: SOURCES.filter((source) => sources[source]?.state === 'unavailable'),
      bundles: undefined,
      shows: new Map(SUBJECT_KINDS.map((kind) => [kind, this.pathsOf(kind)])),
      eventsTo: 0,
      part: undefined,
    };
  }

  /** Of all runs so far. */
  private pathsOf(kind: SubjectKind): ReadonlySet<string> {
    for (const change of this.told.values()) if (change.kind === kind) this.paths[kind].add(change.path);
    return new Set([...this.paths[kind]].filter((path) => !this.hidden.has(path)));
  }

  private reading(source: Source): SourceReading {
    const kind = SUBJECT_KINDS.find((each) => SOURCE_OF[each] === source);
    return {
      source,
      state: 'read',
      form: 'unpaged',
      startedAt: this.nowMs,
      finishedAt: this.nowMs,
      count: kind ? this.records[kind].size : this.events.length,
      unreadable: { count: 0, examples: [] },
      dropped: [],
      trusted: true,
      reasons: [],
    };
  }
}

/** As often as it is read. */
function eachTime<T>(batches: readonly T[]): AsyncIterable<T> {
  return {
    async *[Symbol.asyncIterator]() {
      yield* batches;
    },
  };
}

/** An untrusted reading. */
export function untrusted(source: Source, code: TrustReason['code'] = 'shifted'): Partial<SourceReading> {
  return { trusted: false, reasons: [{ source, code, text: `${source}: a fifth is missing` }] };
}

export function leavesOf(record: Facts, prefix = ''): Map<string, Fact> {
  return new Map(
    Object.entries(record).flatMap(([key, value]): [string, Fact][] =>
      isFacts(value) ? [...leavesOf(value, `${prefix}${key}.`)] : [[`${prefix}${key}`, value]],
    ),
  );
}

/** A subject that is gone is one change, of no path. */
function differences(before: ReadonlyMap<string, FactChange>, after: ReadonlyMap<string, FactChange>): FactChange[] {
  const there = new Set([...after.values()].map(({ kind, subject }) => `${kind} ${subject}`));
  const gone = new Map<string, FactChange>();
  const removed: FactChange[] = [];
  for (const [key, { kind, subject, path }] of before) {
    if (after.has(key)) continue;
    if (there.has(`${kind} ${subject}`)) removed.push({ kind, subject, path, value: undefined });
    else gone.set(`${kind} ${subject}`, { kind, subject, path: '', value: undefined });
  }
  const changed = [...after].filter(([key, { value }]) => {
    const was = before.get(key);
    return was === undefined || textOf(was.value) !== textOf(value);
  });
  return [...removed, ...gone.values(), ...changed.map(([, change]) => change)];
}

function textOf(value: Fact | undefined): string {
  return JSON.stringify(value, (_key, part) => (typeof part === 'bigint' ? `${part}n` : part)) ?? '';
}

type TimedChange = FactChange & { atMs: number; runSeq: number };

/** A state tells what the run after it saw. */
async function changesOf(items: readonly HistoryItem[], subject: SubjectRef): Promise<TimedChange[]> {
  const changes: TimedChange[] = [];
  let atMs = 0;
  const add = (told: Iterable<FactChange>, runSeq: number) => {
    const own = [...told].filter((change) => change.kind === subject.kind && change.subject === subject.id);
    changes.push(...own.map((change) => ({ ...change, atMs, runSeq })));
  };
  for (const [at, item] of items.entries()) {
    if (item.kind === 'state') {
      atMs = item.atMs;
      const next = items.slice(at).find((one) => one.kind === 'run');
      for await (const batch of item.facts) add(batch, next?.kind === 'run' ? next.run.frame.run.seq : 0);
    } else if (item.kind === 'run') {
      atMs = item.run.frame.run.startedAt;
      add(item.run.changes, item.run.frame.run.seq);
    }
  }
  return changes;
}

/** Undefined: it was in no list. */
function factsAfter(changes: readonly FactChange[]): Facts | undefined {
  const facts: Facts = {};
  for (const { path, value } of changes) {
    if (path === '') for (const each of Object.keys(facts)) delete facts[each];
    else if (value === undefined) delete facts[path];
    else facts[path] = value;
  }
  return Object.keys(facts).length > 0 ? facts : undefined;
}

/** A rule over devices that bans those whose MDM reports them as compromised, where nothing else is said. No limit holds it. */
export function ruleOf(said: Facts = {}): LoadedRule {
  const rule = {
    id: 'ban',
    title: 'Ban',
    severity: 'critical',
    subject: 'device',
    when: { '==': [{ var: 'MdmData.CompromisedStatus' }, 'TRUE'] },
    then: 'ban_device',
    mode: 'dry-run',
    cooldown: '0s',
    limits: { max: 1000, percent: 100 },
    tests: [{ name: 'unremarkable', expect: 'no_match' }],
    ...said,
  };
  const parsed = parseRule(JSON.stringify(rule), `${rule.id}.json`, { traits: ACTIONS });
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  return parsed.rule;
}
