// test: judging only what may have changed finds what judging everything finds; the world that a replay keeps, its events and its tallies.
import { describe, expect, it, test } from 'vitest';
import type { TrustEvent } from '../../../src/domain/event.ts';
import type { Fact, Facts } from '../../../src/domain/facts.ts';
import type { FactChange } from '../../../src/domain/look-back.ts';
import type { HistoryItem, RunFrame } from '../../../src/domain/recorded-history.ts';
import { SOURCES, SUBJECT_KINDS, type SubjectKind } from '../../../src/domain/subjects.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { Exemptions } from '../../../src/engine/decide/exemptions.ts';
import { skippedReading } from '../../../src/engine/pull/pull-source.ts';
import { KeptRecords } from '../../../src/engine/run/reading-needs.ts';
import { RecentEvents } from '../../../src/history/replay/as-it-was.ts';
import { rulesAgain } from '../../../src/history/replay/gated-again.ts';
import { KeptVerdicts, type Watched } from '../../../src/history/replay/kept-verdicts.ts';
import { RecordedWorld } from '../../../src/history/replay/recorded-world.ts';
import { TallyBuckets } from '../../../src/history/replay/tally.ts';
import { compileRules } from '../../../src/rules/judge/evaluator.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { problemsOf, ruleOf, TRAITS } from '../../rules/sample-traits.ts';
import { Grammar, seeded } from '../../rules/typed-grammar.ts';
import { leavesOf, Recording } from '../../support/recorded.ts';

const T0 = Date.UTC(2027, 0, 10);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Conditions that change by themselves, or with what others do. */
const DEVICE_WHENS: unknown[] = [
  { '>=': [{ age: { var: 'LastLogin' } }, '2h'] },
  { '<': [{ age: { var: 'CreatedAt' } }, '90m'] },
  { or: [{ '==': [{ var: 'Model' }, 'a'] }, { '<=': [{ age: { var: 'MdmData.Timestamp' } }, 7200] }] },
  { '==': [{ '>': [{ age: { var: 'LastLogin' } }, '1h'] }, false] },
  { '<=': ['1h', { age: { var: 'LastLogin' } }, '3h'] },
  { '<': [{ var: 'LastLogin' }, { var: '$now' }] },
  { '>=': [{ event_count: { within: '1h' } }, 2] },
  { '<': [{ event_count: { within: '3h', type: 'ACCESS' } }, 1] },
  {
    and: [
      { '>=': [{ event_distinct: { of: 'who', within: '2h' } }, 2] },
      { '>': [{ age: { var: 'CreatedAt' } }, '1h'] },
    ],
  },
  { '>': [{ since_last_event: { within: '2h' } }, 1800] },
  { some: [{ var: '$owners' }, { '==': [{ var: 'Name' }, 'a'] }] },
  { none: [{ var: '$owners' }, { in: ['admin', { var: 'Roles' }] }] },
  { some: [{ var: '$owners' }, { '>=': [{ event_count: { within: '1h' } }, 2] }] },
  { all: [{ var: '$owners' }, { '<': [{ event_distinct: { of: 'who', within: '3h' } }, 1] }] },
];
const USER_WHENS: unknown[] = [
  { some: [{ var: '$devices' }, { '==': [{ var: 'Model' }, 'a'] }] },
  { some: [{ var: '$devices' }, { '>=': [{ event_count: { within: '1h' } }, 2] }] },
  { '>=': [{ event_count: { within: '1h' } }, 1] },
  { '>=': [{ age: { var: 'LastLogin' } }, '2h'] },
  { '==': [{ var: 'Name' }, 'a'] },
];

class Walk {
  readonly random: () => number;
  readonly grammar: Grammar;
  readonly rules: LoadedRule[] = [];
  readonly world = new RecordedWorld();
  readonly kept: KeptVerdicts;
  readonly events: TrustEvent[] = [];
  readonly records: Record<SubjectKind, Map<string, Facts>> = {
    device: new Map(),
    user: new Map(),
    service: new Map(),
  };
  readonly told: Record<SubjectKind, Map<string, Map<string, Fact>>> = {
    device: new Map(),
    user: new Map(),
    service: new Map(),
  };
  nowMs = T0;
  private latestMs = T0;
  readFromMs = T0 - HOUR;
  watched: Watched = new Map();

  constructor(seed: number) {
    this.random = seeded(seed);
    this.grammar = new Grammar(seed);
    for (let number = 0; number < 6; number += 1) {
      const fixed = this.chance(0.7);
      const subject: SubjectKind = fixed && this.chance(0.3) ? 'user' : 'device';
      const when = fixed ? this.pick(subject === 'user' ? USER_WHENS : DEVICE_WHENS) : this.grammar.condition(3);
      const vouches = this.pick([{ 'MdmData.Source': '2h' }, { 'MdmData.Timestamp': '3h' }, { LastLogin: '1h' }]);
      const fresh = subject === 'device' && this.chance(0.4) ? { fresh: vouches } : {};
      if (problemsOf(when, {}, subject).length > 0) continue;
      const more = problemsOf(when, fresh, subject).length > 0 ? {} : fresh;
      this.rules.push(ruleOf(when, { id: `rule-${number}`, ...more }, subject));
    }
    this.kept = new KeptVerdicts(rulesAgain(this.rules, 'hash', 'v1'), this.world, TRAITS);
  }

  /** A clock is set back by less than windows keep events for. */
  pass(): void {
    if (this.chance(0.05)) this.nowMs = Math.max(this.nowMs - 40 * MINUTE, this.latestMs - 50 * MINUTE);
    else this.nowMs += this.pick([1, 1_000, MINUTE, 7 * MINUTE, HOUR, 5 * HOUR]);
    this.latestMs = Math.max(this.latestMs, this.nowMs);
  }

  pick<T>(all: readonly T[]): T {
    return all[Math.floor(this.random() * all.length)] as T;
  }
  chance(share: number): boolean {
    return this.random() < share;
  }

  private time(): Fact {
    if (this.chance(0.1)) return 0;
    const ms = this.nowMs + Math.floor((this.random() * 5 - 4) * HOUR) + (this.chance(0.1) ? 30 * HOUR : 0);
    return this.pick<Fact>([BigInt(ms) * 1_000_000n, ms, Math.floor(ms / 1_000), BigInt(ms) * 1_000_000n + 123_456n]);
  }

  private device(id: string): Facts {
    const record = {
      ...this.grammar.device(),
      DeviceID: id,
      SerialNumber: this.pick(['S-1', 'S-2', 'S-3']),
      Emails: [...new Set([this.pick(['ann@x', 'Bob@x', 'eve@x']), this.pick(['ann@x', 'bob@x'])])],
      LastLogin: this.time(),
      CreatedAt: this.time(),
    };
    const mdm = { ...(record as { MdmData?: Facts }).MdmData, Timestamp: this.time() };
    const whole: Facts = { ...record, MdmData: mdm };
    if (this.chance(0.2)) delete whole[this.pick(['Model', 'LastLogin', 'MdmData', 'Emails'])];
    return whole;
  }

  private user(email: string): Facts {
    const record: Facts = { Email: email, Name: this.pick(['a', 'b']), Roles: ['admin'], LastLogin: this.time() };
    if (this.chance(0.8)) record.SerialNumbers = [this.pick(['S-1', 'S-2', 'S-3'])];
    return record;
  }

  /** Changes some records; returns the changes, as the recorder would tell them. */
  changes(isBrief: boolean): FactChange[] {
    const records = isBrief ? structuredClone(this.records) : this.records;
    for (let count = Math.floor(this.random() * 3); count >= 0; count -= 1) {
      const kind = this.pick(['device', 'device', 'user'] as const);
      const id = kind === 'device' ? this.pick(['d1', 'd2', 'd3', 'd4']) : this.pick(['ann@x', 'Bob@x', 'eve@x']);
      if (this.chance(0.15)) records[kind].delete(id);
      else {
        const whole = kind === 'device' ? this.device(id) : this.user(id);
        const known = records[kind].get(id);
        // Most changes are of one field: what is found of the others stays.
        const times = ['LastLogin', 'CreatedAt', 'MdmData'].filter((one) => one in whole);
        const field = this.pick(times.length > 0 && this.chance(0.6) ? times : Object.keys(whole));
        records[kind].set(id, known && this.chance(0.7) ? { ...known, [field]: whole[field] as Fact } : whole);
      }
    }
    const told = { device: new Map(), user: new Map(), service: new Map() } as Walk['told'];
    const found: FactChange[] = [];
    for (const kind of SUBJECT_KINDS) {
      for (const [id, record] of records[kind]) told[kind].set(id, leavesOf(record));
      for (const [id, before] of this.told[kind]) {
        const after = told[kind].get(id);
        if (!after) found.push({ kind, subject: id, path: '', value: undefined });
        else
          for (const path of before.keys())
            if (!after.has(path)) found.push({ kind, subject: id, path, value: undefined });
      }
      for (const [id, after] of told[kind]) {
        const before = this.told[kind].get(id);
        for (const [path, value] of after)
          if (before?.get(path) !== value) found.push({ kind, subject: id, path, value });
      }
    }
    if (!isBrief) Object.assign(this.told, told);
    return found;
  }

  newEvents(): TrustEvent[] {
    const events: TrustEvent[] = [];
    while (this.chance(0.5)) {
      const createdAtMs = this.nowMs - Math.floor(this.random() * 2 * HOUR) + (this.chance(0.2) ? 10 * MINUTE : 0);
      events.push({
        id: `e${this.events.length + events.length}`,
        createdAtMs,
        deviceId: this.pick(['d1', 'd2', undefined]),
        serialNumber: this.pick(['S-1', 'S-2', undefined]),
        email: this.pick(['ann@x', 'bob@x', undefined]),
        serviceId: undefined,
        serviceName: undefined,
        type: this.pick(['ACCESS', 'ADMIN']),
        subType: '',
        action: '',
        severity: 'INFO',
        result: 'SUCCESS',
        body: { who: this.pick(['a', 'b']) },
      });
    }
    this.events.push(...events);
    return events;
  }

  frame(): RunFrame {
    const reading = (source: (typeof SOURCES)[number]) => ({
      ...skippedReading(source, this.nowMs),
      state: 'read' as const,
      form: 'unpaged' as const,
    });
    const sources = Object.fromEntries(SOURCES.map((source) => [source, reading(source)])) as RunFrame['sources'];
    const unavailable = this.chance(0.1) ? (['users'] as const) : this.chance(0.1) ? (['events'] as const) : [];
    if (this.chance(0.1)) this.readFromMs = this.nowMs - Math.floor(this.random() * 2 * HOUR);
    const shown = [
      'DeviceID',
      'SerialNumber',
      ...new Set([...this.told.device.values()].flatMap((leaves) => [...leaves.keys()])),
    ];
    const shows = this.chance(0.2)
      ? new Map([['device' as const, new Set(shown.filter((path) => !['Emails', 'LastLogin'].includes(path)))]])
      : new Map<SubjectKind, ReadonlySet<string>>();
    return {
      run: { startedAt: this.nowMs } as RunFrame['run'],
      steady: { nowMs: this.nowMs, sinceMs: 0, forMs: 0, jumpedMs: 0, setBackMs: 0 },
      quietMs: 0,
      freeze: undefined,
      settings: {} as RunFrame['settings'],
      activeRules: [],
      judged: [],
      unjudged: [],
      sources,
      decidedOn: undefined,
      coverage: [{ fromMs: this.readFromMs, toMs: this.nowMs }],
      unavailable,
      bundles: undefined,
      shows,
      eventsTo: 0,
      part: undefined,
    };
  }

  /** Of a run none of whose readings is trusted. */
  untrusted(): RunFrame {
    const frame = this.frame();
    const sources = Object.fromEntries(SOURCES.map((source) => [source, { ...frame.sources[source], trusted: false }]));
    return { ...frame, sources: sources as RunFrame['sources'] };
  }

  watch(): void {
    if (!this.chance(0.3)) return;
    const ids = ['d1', 'd2', 'd3', 'ann@x'].filter(() => this.chance(0.5));
    this.watched = new Map(
      ids.map((id) => [id, new Set(this.rules.map((rule) => rule.id).filter(() => this.chance(0.5)))]),
    );
  }

  /** What a pull would find: every record is judged, by an evaluator of its own. */
  everything({ unavailable, coverage, shows }: RunFrame) {
    const evaluator = compileRules(this.rules);
    evaluator.observe(this.events);
    const joins = new KeptRecords(evaluator, new Exemptions([], this.nowMs));
    const views = this.world.views({ shows });
    const recordsOf = (kind: SubjectKind) =>
      this.world.kinds[kind].all.flatMap((subject): Facts[] => {
        const record = views[kind].of(subject);
        return record ? [record] : [];
      });
    for (const [source, kind] of [
      ['users', 'user'],
      ['devices', 'device'],
    ] as const) {
      const join = joins.joiner(source);
      for (const record of recordsOf(kind)) join?.(record);
    }
    return SUBJECT_KINDS.map((kind) => {
      const judge = evaluator.judge(kind, {
        nowMs: this.nowMs,
        fieldsWritten: ['Banned'],
        joins,
        coverage,
        unavailable: new Set(unavailable),
        isOpen: (rule, id) => this.watched.get(id)?.has(rule) ?? false,
      });
      for (const record of recordsOf(kind)) judge.accept(record);
      return judge.finish();
    });
  }
}

const key = ({ rule, summary }: { rule: string; summary: { id: string } }): string => `${summary.id} ${rule}`;
const byKey = <T extends { rule: string; summary: { id: string } }>(all: readonly T[]): T[] =>
  all.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));

/** Returns how many verdicts were compared. */
function walked(seed: number, runs: number): number {
  const walk = new Walk(seed);
  let compared = 0;
  for (let run = 0; run < runs; run += 1) {
    walk.pass();
    walk.world.change(walk.changes(false));
    const isBrief = walk.chance(0.2);
    if (isBrief) walk.world.see({ frame: walk.untrusted(), changes: walk.changes(true) });
    walk.kept.observe(walk.newEvents());
    walk.watch();
    const frame = walk.frame();
    const found = walk.kept.judge(frame, walk.world.views(frame), walk.watched);
    const all = walk.everything(frame);
    for (const expected of all) {
      const one = found.find(({ kind }) => kind === expected.kind);
      const where = `seed ${seed}, run ${run}, ${expected.kind}`;
      expect(byKey(one?.matches ?? []), where).toEqual(byKey(expected.matches));
      expect(byKey(one?.open ?? []), where).toEqual(byKey(expected.open));
      for (const { rule, match, unknown, error } of expected.tallies) {
        const counts = walk.kept.counts.get(rule);
        expect([counts?.matches, counts?.unknown], `${where}, ${rule}`).toEqual([match, unknown + error]);
      }
      compared += expected.matches.length + expected.open.length;
    }
    walk.world.restore();
  }
  return compared;
}

describe('verdicts that are kept from run to run', () => {
  it('are those of judging everything in every run', () => {
    let compared = 0;
    for (let seed = 1; seed <= 60; seed += 1) compared += walked(seed, 25);
    expect(compared).toBeGreaterThan(2_000);
  }, 120_000);
});

describe('the world of a replay keeps what trusted readings showed, also where a run is read again; and rules that look back keep no time of a run that saw nothing', () => {
  const changes: FactChange[] = [{ kind: 'device', subject: 'd1', path: 'Model', value: 'M1' }];

  function frame(isTrusted: boolean): RunFrame {
    const recording = new Recording();
    recording.run({ sources: { devices: { trusted: isTrusted } } });
    const run = recording.items.find((item): item is Extract<HistoryItem, { kind: 'run' }> => item.kind === 'run');
    return (run as Extract<HistoryItem, { kind: 'run' }>).run.frame;
  }

  it('a run that is read again leaves nothing of a reading that was not trusted', () => {
    const world = new RecordedWorld();
    world.seeAgain({ frame: frame(false), changes });
    expect(world.record('device', 'd1')).toBeUndefined();
    world.seeAgain({ frame: frame(true), changes });
    expect(world.record('device', 'd1')).toEqual({ Model: 'M1' });
  });

  it('a run without a trusted reading by a clock that was ahead takes nothing from what rules know', () => {
    const text =
      '{ id: stayed, subject: device, when: { unchanged_for: [Model, 1h] }, then: notify, tests: [{ name: any, expect: unknown }] }';
    const parsed = parseRule(text, 'stayed.yaml', { traits: ACTIONS });
    if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
    const { lookBack } = compileRules([parsed.rule]);
    const run = (atMs: number, isRead: boolean) =>
      lookBack?.observe({
        kind: 'run',
        run: { atMs, read: isRead ? ['device'] : [], singly: [], changes: isRead && atMs === 0 ? changes : [] },
      });
    run(0, true);
    run(9_000_000, false);
    run(1_800_000, true);
    expect(lookBack?.nextChangeMs({ kind: 'device', id: 'd1' }, 1_800_000)).toBe(3_600_000);
  });
});

const HOUR_MS = 3_600_000;

function eventAt(id: string, createdAtMs: number): TrustEvent {
  const of = { deviceId: 'd1', serialNumber: 'S1', email: undefined, serviceId: undefined, serviceName: undefined };
  const what = { type: 'Access', subType: '', action: '', severity: 'ERROR', result: '', body: {} };
  return { id, createdAtMs, ...of, ...what };
}

describe('events that a longer window may count later', () => {
  it('the newest one stays, since the store never removes it and it is not recorded again', () => {
    const events = new RecentEvents();
    events.add([eventAt('older', 1 * HOUR_MS), eventAt('newest', 2 * HOUR_MS)]);
    events.forget([{ fromMs: 20 * HOUR_MS, toMs: 30 * HOUR_MS }]);
    expect(events.all.map(({ id }) => id)).toEqual(['newest']);
  });
});

const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;

function over(times: readonly number[]) {
  const buckets = new TallyBuckets();
  for (const atMs of times) {
    buckets.run(atMs);
    const counts = buckets.countsAt(atMs, 'r');
    counts.matches = Math.max(counts.matches, atMs === times[1] ? 7 : 2);
    counts.acts += 1;
  }
  return buckets.finish();
}

test.each([
  ['five minutes', 15_000, 5 * MINUTE_MS, MINUTE_MS],
  ['a day', 5 * MINUTE_MS, DAY_MS, 15 * MINUTE_MS],
  ['thirty days', 15 * MINUTE_MS, 30 * DAY_MS, 360 * MINUTE_MS],
  ['two years', DAY_MS, 730 * DAY_MS, 8 * DAY_MS],
])('%s of runs have stretches of a fitting length, which lose no run and no act', (_, everyMs, lastingMs, lengthMs) => {
  const times = Array.from({ length: lastingMs / everyMs }, (_one, n) => 10 * DAY_MS + n * everyMs);
  const buckets = over(times);
  expect(new Set(buckets.map(({ fromMs, toMs }) => toMs - fromMs))).toEqual(new Set([lengthMs]));
  expect(buckets.length).toBeLessThanOrEqual(181);
  expect(buckets.reduce((sum, { runs }) => sum + runs, 0)).toBe(times.length);
  expect(buckets.reduce((sum, { rules }) => sum + (rules.r?.acts ?? 0), 0)).toBe(times.length);
  expect(Math.max(...buckets.map(({ rules }) => rules.r?.matches ?? 0))).toBe(7);
});
