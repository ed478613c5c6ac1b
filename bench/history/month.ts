// bench: a recorded month, written as the segments of its days. In: how many devices, days and changes a run. Out: the folder of a history. Facts
// change as agents and MDM report them: times, scores and counts; a device is compromised now and then, and clean again hours later.

import { CEILINGS_DEFAULT } from '../../src/domain/action.ts';
import type { Fact } from '../../src/domain/facts.ts';
import type { FactChange } from '../../src/domain/look-back.ts';
import type { RecordedRun } from '../../src/domain/recorded-history.ts';
import { SOURCES } from '../../src/domain/subjects.ts';
import { PLACEHOLDER_SERIALS } from '../../src/engine/decide/earlier-answers.ts';
import { skippedReading } from '../../src/engine/pull/pull-source.ts';
import { eachOf, RunEncoder } from '../../src/history/codec/run-encoder.ts';
import { dayOf, SegmentBytes } from '../../src/history/files/segment-bytes.ts';
import { writeSegment } from '../../src/history/files/segment-files.ts';

export const START_MS = Date.UTC(2027, 0, 1);
export const ADDRESS = 'http://platform.test';
const EVERY_MS = 300_000;
const DAY_MS = 86_400_000;

export interface MonthSize {
  devices: number;
  days: number;
  /** Of the devices, in each run. */
  changed: number;
}

/** Returns the number of changes that it wrote. */
export function writeMonth(folder: string, { devices, days, changed }: MonthSize): number {
  const random = seeded(7);
  const compromised: { index: number; untilMs: number }[] = [];
  const encoder = new RunEncoder();
  const runsOfDay = DAY_MS / EVERY_MS;
  const shows = new Set(factsOf(0, START_MS).map(([path]) => path));
  let changes = 0;
  for (let day = 0; day < days; day += 1) {
    const bytes = new SegmentBytes({ program: 'bench', address: ADDRESS, forgotten: [] });
    for (let turn = 0; turn < runsOfDay; turn += 1) {
      const seq = day * runsOfDay + turn + 1;
      const nowMs = START_MS + (seq - 1) * EVERY_MS;
      const seen: FactChange[] = seq === 1 ? beginning(devices, nowMs) : [];
      if (seq > 1) {
        for (let count = Math.round(devices * changed); count > 0; count -= 1)
          seen.push(changeOf(Math.floor(random() * devices), ...movedFact(random, nowMs)));
        if (random() < 1 / 12)
          compromised.push({ index: Math.floor(random() * devices), untilMs: nowMs + 3 * 3_600_000 });
        for (const { index, untilMs } of compromised.splice(0)) {
          const isOver = untilMs <= nowMs;
          seen.push(changeOf(index, 'MdmData.CompromisedStatus', isOver ? 'FALSE' : 'TRUE'));
          if (!isOver) compromised.push({ index, untilMs });
        }
      }
      changes += seen.length;
      encoder.encode(encodable(runOf(seq, nowMs, devices, seen, shows)), bytes.add);
    }
    const [first, last] = [day * runsOfDay + 1, (day + 1) * runsOfDay];
    const [fromMs, toMs] = [START_MS + day * DAY_MS, START_MS + (day + 1) * DAY_MS - EVERY_MS];
    writeSegment(folder, { first, last, level: 'day', rewrites: 0, fromMs, toMs }, bytes.finish(), dayOf(fromMs));
  }
  return changes;
}

function encodable(run: RecordedRun) {
  return { ...run, changes: eachOf(run.changes), shows: () => run.frame.shows };
}

function beginning(devices: number, nowMs: number): FactChange[] {
  return Array.from({ length: devices }, (_, index) => index).flatMap((index) =>
    factsOf(index, nowMs).map(([path, value]) => changeOf(index, path, value)),
  );
}

function changeOf(index: number, path: string, value: Fact): FactChange {
  return { kind: 'device', subject: `device-${index}`, path, value };
}

function factsOf(index: number, nowMs: number): [string, Fact][] {
  return [
    ['DeviceID', `device-${index}`],
    ['SerialNumber', `SN${index}`],
    ['DeviceFriendlyName', `Device ${index}`],
    ['Ownership', ['Corporate Dedicated', 'Employee Owned'][index % 2] as string],
    ['Platform', ['Windows', 'macOS', 'Linux', 'iOS', 'Android'][index % 5] as string],
    ['Model', ['A', 'B', 'C'][index % 3] as string],
    ['Architecture', 'x64'],
    ['OS', '15.1'],
    ['AppVersion', '3.2.1'],
    ['RegisteredStatus', 'TRUE'],
    ['Banned', 'FALSE'],
    ['CreatedAt', nanoseconds(nowMs - 300 * DAY_MS)],
    ['LastLogin', nanoseconds(nowMs - index)],
    ['LoginCount', index % 500],
    ['Roles', ['employee']],
    ['Emails', [`user-${index >> 1}@example.com`]],
    ['MdmData.Timestamp', nanoseconds(nowMs - index)],
    ['MdmData.Source', 'mdm'],
    ['MdmData.CompromisedStatus', 'FALSE'],
    ['MdmData.CompliantStatus', 'TRUE'],
    ['TrustData.EntityTrustscore', 90],
    ['TrustData.AccessTrustscore', 90],
    ['TrustData.Level', 'High'],
  ];
}

function movedFact(random: () => number, nowMs: number): [string, Fact] {
  const luck = random();
  if (luck < 0.4) return ['LastLogin', nanoseconds(nowMs - Math.floor(random() * EVERY_MS))];
  if (luck < 0.6) return ['MdmData.Timestamp', nanoseconds(nowMs - Math.floor(random() * EVERY_MS))];
  if (luck < 0.75) return ['LoginCount', Math.floor(random() * 2_000)];
  if (luck < 0.9) return ['TrustData.EntityTrustscore', 60 + Math.floor(random() * 41)];
  return ['TrustData.AccessTrustscore', 60 + Math.floor(random() * 41)];
}

function nanoseconds(ms: number): bigint {
  return BigInt(ms) * 1_000_000n;
}

function runOf(
  seq: number,
  nowMs: number,
  devices: number,
  changes: readonly FactChange[],
  shows: ReadonlySet<string>,
): RecordedRun {
  const never = Number.NEGATIVE_INFINITY;
  const sources = Object.fromEntries(SOURCES.map((source) => [source, skippedReading(source, nowMs)]));
  const read = { ...skippedReading('devices', nowMs), state: 'read', form: 'unpaged', count: devices } as const;
  return {
    frame: {
      run: {
        id: `run-${seq}`,
        seq,
        mode: 'enforce',
        daemonMode: 'enforce',
        trigger: 'schedule',
        rules: [],
        ruleSetHash: 'bench',
        startedAt: nowMs,
        finishedAt: undefined,
        status: 'running',
        error: undefined,
        demo: false,
      },
      steady: { nowMs, sinceMs: never, forMs: 0, jumpedMs: never, setBackMs: never },
      quietMs: 15_000,
      freeze: undefined,
      settings: {
        ceilings: CEILINGS_DEFAULT,
        goneAfterMs: DAY_MS,
        serialDevicesMax: 5,
        placeholderSerials: PLACEHOLDER_SERIALS,
        credential: undefined,
        lists: 'v1',
      },
      activeRules: [],
      judged: [],
      unjudged: [],
      sources: { ...sources, devices: read } as RecordedRun['frame']['sources'],
      decidedOn: undefined,
      coverage: [],
      unavailable: [],
      bundles: undefined,
      shows: new Map([['device', shows]]),
      eventsTo: 0,
      part: undefined,
    },
    changes,
    events: [],
    openState: {
      episodes: [],
      claims: [],
      decisions: [],
      intents: [],
      rejected: new Set(),
      lastAttempts: new Map(),
      attempts24h: new Map(),
    },
    written: [],
    ended: [],
  };
}

/** A small generator of its own, so that every month is the same (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
