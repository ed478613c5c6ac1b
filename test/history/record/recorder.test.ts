// The recorder of an engine: what it writes is what a history in memory has, in a thread of its own or not; after a restart it goes on. Whatever
// is wrong with it, runs go on and decide the same; what was lost is a gap, and the next runs are recorded against what was recorded last.
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { packRecords } from '../../../src/domain/fact-packs.ts';
import type { Facts } from '../../../src/domain/facts.ts';
import type { FactChange } from '../../../src/domain/look-back.ts';
import type { HistoryItem, HistoryRecorder, RecordedRun, SeenRun } from '../../../src/domain/recorded-history.ts';
import { Decoder } from '../../../src/history/codec/run-encoder.ts';
import { forgetSubject } from '../../../src/history/files/forget.ts';
import { historyReader } from '../../../src/history/files/read-items.ts';
import { DeskThread, DirectDesk, ThreadDesk } from '../../../src/history/record/desk-thread.ts';
import type { RecordingDesk } from '../../../src/history/record/folder-recording.ts';
import { RunRecorder } from '../../../src/history/record/run-recorder.ts';
import { type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { GivenInventory, inventoryRule } from '../../support/given-facts.ts';
import { addEvent } from '../../support/looks.ts';
import { MemoryHistory } from '../../support/memory-history.ts';
import { PRINT_KEY } from '../../support/print-key.ts';
import { ruleOf } from '../../support/recorded.ts';

const dirs: string[] = [];
afterEach(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
});

function freshFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'trustward-history-'));
  dirs.push(dir);
  return join(dir, 'x.history');
}

const settingsOf = (folder: string) => ({
  folder,
  address: 'http://platform.test',
  program: 'test',
  keepMs: 30 * 86_400_000,
  printKey: PRINT_KEY,
});

function recorderOf(on: OnPlatform, desk: RecordingDesk): RunRecorder {
  const { clock, log } = on.engine;
  // Time stands still here: nothing is given up for taking long.
  const waiting = {
    ...clock,
    nowMs: () => clock.nowMs(),
    monotonicMs: () => 0,
    sleep: () => new Promise<void>(() => {}),
  };
  return new RunRecorder(desk, on.store, waiting, log);
}

const STEPS: ((on: OnPlatform) => void)[] = [
  (on) => {
    for (let id = 1; id <= 6; id += 1) on.platform.addDevice(`d${id}`, { Big: 2n ** 62n + BigInt(id) });
  },
  (on) => on.platform.compromised('d2', 'TRUE'),
  () => {},
  (on) => on.platform.patch('d3', { MdmData: { CompromisedStatus: 'TRUE', Nested: { One: [1, { Two: null }] } } }),
  (on) => on.platform.compromised('d2', 'FALSE'),
  (on) => void on.platform.devices.delete('d6'),
  (on) => on.platform.addDevice('d6'),
];

async function live(on: OnPlatform, steps = STEPS): Promise<string[]> {
  const runs: string[] = [];
  for (const step of steps) {
    step(on);
    on.clock.pass(60_000);
    const { run, decisions } = await on.run();
    runs.push(
      JSON.stringify([
        run.seq,
        decisions.map(({ rule, target, decision, reason }) => [rule, target, decision, reason]),
      ]),
    );
  }
  return runs;
}

async function itemsOf(folder: string): Promise<HistoryItem[]> {
  const newDecoder = (options: { factsOnly: boolean }) => new Decoder(options);
  const reader = historyReader({ folder, address: 'http://platform.test', newDecoder });
  const items: HistoryItem[] = [];
  for await (const item of reader.items({ fromMs: 0, toMs: Number.MAX_SAFE_INTEGER })) items.push(item);
  return items;
}

const runsOf = (items: readonly HistoryItem[]): RecordedRun[] =>
  items.flatMap((item) => (item.kind === 'run' ? [item.run] : []));

/** Facts of the devices after these runs, by path. */
function worldOf(runs: readonly RecordedRun[]): Map<string, Map<string, unknown>> {
  const world = new Map<string, Map<string, unknown>>();
  const apply = ({ subject, path, value }: FactChange) => {
    const own = world.get(subject) ?? new Map();
    world.set(subject, own);
    if (path === '') world.delete(subject);
    else if (value === undefined) own.delete(path);
    else own.set(path, value);
  };
  for (const { changes } of runs) for (const change of changes) apply(change);
  return world;
}

const shared = new DeskThread(true);
afterAll(() => shared.close());

const desks: [string, (folder: string) => RecordingDesk][] = [
  ['in this thread', (folder) => new DirectDesk(settingsOf(folder))],
  ['in a thread of its own', (folder) => new ThreadDesk(settingsOf(folder))],
  ['in a thread that others have too', (folder) => new ThreadDesk(settingsOf(folder), shared)],
];

describe.each(desks)('recording %s', (_name, deskOf) => {
  it('writes what a history in memory has', async () => {
    const [on, beside] = [startOnPlatform(), startOnPlatform()];
    const [folder, memory] = [freshFolder(), new MemoryHistory(beside.store)];
    const recorder = recorderOf(on, deskOf(folder));
    on.engine.history = recorder;
    beside.engine.history = memory;
    const [runs, same] = [await live(on), await live(beside)];
    await recorder.close();
    await memory.settled();
    expect(runs).toEqual(same);
    expect(recorder.state).toMatchObject({ recorded: STEPS.length, lost: 0, fault: undefined });
    expect(runsOf(await itemsOf(folder))).toEqual(memory.runs);
  });

  it('goes on after a restart with what was recorded last', async () => {
    const [on, folder] = [startOnPlatform(), freshFolder()];
    for (const steps of [STEPS.slice(0, 3), STEPS.slice(3, 4), STEPS.slice(4)]) {
      const recorder = recorderOf(on, deskOf(folder));
      on.engine.history = recorder;
      await live(on, steps);
      await recorder.close();
      expect(recorder.fault).toBeUndefined();
    }
    const items = await itemsOf(folder);
    expect(items.filter(({ kind }) => kind === 'gap')).toEqual([]);
    const runs = runsOf(items);
    expect(runs.map(({ changes }) => [...changes].length > 20)).toEqual([
      true,
      false,
      false,
      false,
      false,
      false,
      false,
    ]);
    // What the ban of the run before did.
    expect(runs[2]?.changes).toEqual([{ kind: 'device', subject: 'd2', path: 'Banned', value: 'TRUE' }]);
    expect([...worldOf(runs).keys()].sort()).toEqual(['d1', 'd2', 'd3', 'd4', 'd5', 'd6']);
    expect(worldOf(runs).get('d3')?.get('MdmData.Nested.One')).toEqual([1, { Two: null }]);
    expect(worldOf(runs).get('d4')?.get('Big')).toBe(2n ** 62n + 4n);
  });
});

const CHANGED = { DeviceID: 'd2', Platform: 'another' };

describe('a first list, which is recorded while it is read', () => {
  type Hand = (history: HistoryRecorder, run: SeenRun) => void;
  const handed: Hand = (history, run) => history.record(run);
  const distrusted: Hand = (history, run) => {
    const { frame } = run;
    const sources = { ...frame.sources, devices: { ...frame.sources.devices, trusted: false } };
    const seen = run.seen.map((one) => (one.kind === 'device' ? { ...one, reading: sources.devices } : one));
    history.record({ ...run, frame: { ...frame, sources }, seen });
  };
  /** As of users, whom rules over them need, and rules over devices. */
  const readAgain: Hand = (history, run) => {
    const again = run.seen.map((one) => ({ ...one, changed: [packRecords([CHANGED])] }));
    history.record({ ...run, seen: [...run.seen, ...again] });
  };
  const CASES: [string, Hand, (desk: RecordingDesk) => void, number][] = [
    ['is what a history in memory has', handed, () => {}, 0],
    ['is of its run alone when it is not trusted', distrusted, () => {}, 0],
    ['is nothing when its run is not recorded', () => {}, () => {}, 0],
    ['is read again in the same run', readAgain, () => {}, 0],
    [
      'is lost with its run when a part of it does not arrive',
      (history, run) => history instanceof RunRecorder && history.record(run),
      (desk) => {
        desk.ahead = () => Promise.reject(new Error('on the way'));
      },
      1,
    ],
  ];

  it.each(CASES)('%s', async (_name, hand, plant, lost) => {
    const [on, beside] = [startOnPlatform(), startOnPlatform()];
    const [folder, memory] = [freshFolder(), new MemoryHistory(beside.store)];
    const desk = new DirectDesk(settingsOf(folder));
    let packs = 0;
    const ahead = desk.ahead.bind(desk);
    desk.ahead = (...given) => {
      packs += 1;
      return ahead(...given);
    };
    plant(desk);
    const recorder = recorderOf(on, desk);
    recorder.beginsAnew();
    // Passes are made that turn out not to be needed.
    recorder.changedList('device');
    /** The first run is handed over so, and all others as they are. */
    const once = <T extends HistoryRecorder>(history: T): HistoryRecorder => {
      let runs = 0;
      const record = (run: SeenRun) => (runs++ === 0 ? hand : handed)(history, run);
      return Object.assign(Object.create(history) as T, { record });
    };
    on.engine.history = once(recorder);
    beside.engine.history = once(memory);
    expect(await live(on)).toEqual(await live(beside));
    await recorder.close();
    await memory.settled();
    expect(packs > 0 || lost > 0).toBe(true);
    expect(recorder.state.lost).toBe(lost);
    expect(runsOf(await itemsOf(folder))).toEqual(memory.runs);
    expect(readdirSync(folder).filter((name) => name.endsWith('.new'))).toEqual([]);
  });
});

describe('what stands, beside the segments', () => {
  const MOVES: ((on: OnPlatform) => void)[] = [
    ...STEPS.slice(1),
    (on) => on.platform.patch('d4', { Groups: ['a', { b: 2n ** 70n }], 'with.dot': { 'in.it': 1 } }),
    (on) => on.platform.addDevice('d7 名前'),
    (on) => void on.platform.devices.delete('d7 名前'),
  ];
  const changed = (file: string, of: (bytes: Buffer) => Uint8Array) => writeFileSync(file, of(readFileSync(file)));
  /** What is wrong with the file when the next process begins. `first`: as it was when it was first written. */
  const FAULTS: Record<string, (file: string, first: string) => void> = {
    none: () => {},
    lost: (file) => rmSync(file),
    cut: (file) => changed(file, (bytes) => bytes.subarray(0, bytes.length / 2)),
    empty: (file) => writeFileSync(file, ''),
    'other in one bit': (file) =>
      changed(file, (bytes) => bytes.map((byte, at) => (at === bytes.length >> 1 ? byte ^ 1 : byte))),
    'older than its segments': (file, first) => copyFileSync(first, file),
    'of another database': (file) => copyFileSync(join(foreign, 'standing'), file),
  };
  let foreign = '';

  it('is read by the next process, or made anew of them, whatever is wrong with it: what is recorded is the same', async () => {
    const other = startOnPlatform();
    foreign = freshFolder();
    const recorder = recorderOf(other, new DirectDesk({ ...settingsOf(foreign), printKey: Int32Array.of(9, 9, 9, 9) }));
    other.engine.history = recorder;
    await live(other, STEPS.slice(0, 2));
    await recorder.close();

    const moves = fc.array(fc.nat(MOVES.length - 1), { minLength: 1, maxLength: 4 });
    const lives = fc.array(fc.record({ moves, fault: fc.constantFrom(...Object.keys(FAULTS)) }), {
      minLength: 2,
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(lives, async (all) => {
        const [on, beside] = [startOnPlatform(), startOnPlatform()];
        const [folder, memory] = [freshFolder(), new MemoryHistory(beside.store)];
        beside.engine.history = memory;
        const [file, first] = [join(folder, 'standing'), join(folder, 'standing.first')];
        for (const [at, { moves: own, fault }] of all.entries()) {
          const steps = [
            ...(at === 0 ? STEPS.slice(0, 1) : []),
            ...own.map((move) => MOVES[move] as (typeof MOVES)[0]),
          ];
          const process = recorderOf(on, new DirectDesk(settingsOf(folder)));
          on.engine.history = process;
          expect(await live(on, steps)).toEqual(await live(beside, steps));
          await process.close();
          expect(process.fault).toBeUndefined();
          if (!existsSync(first)) copyFileSync(file, first);
          FAULTS[fault]?.(file, first);
        }
        await memory.settled();
        const sorted = ({ changes }: RecordedRun) =>
          [...changes].sort((a, b) => (`${a.subject} ${a.path}` < `${b.subject} ${b.path}` ? -1 : 1));
        const runs = runsOf(await itemsOf(folder));
        expect(runs.map(sorted)).toEqual(memory.runs.map(sorted));
        expect(runs.map(({ frame }) => frame.shows)).toEqual(memory.runs.map(({ frame }) => frame.shows));
        expect(runs.map(({ openState }) => openState)).toEqual(memory.runs.map(({ openState }) => openState));
      }),
      { numRuns: 10 },
    );
  });
});

describe('a recorder that is closed', () => {
  it('has nothing under way, and no thread begins again: also when it is closed while a run is being recorded', async () => {
    const on = startOnPlatform();
    const calls: string[] = [];
    const written = Promise.withResolvers<void>();
    const desk: RecordingDesk = {
      open: async () => {},
      presentPrints: async () => new Int32Array(0),
      eventsAfter: async () => 0,
      events: async () => {},
      ahead: async () => {},
      record: () => written.promise,
      tidy: async () => void calls.push('tidy'),
      restart: () => {},
      close: async () => void calls.push('close'),
    };
    const recorder = recorderOf(on, desk);
    on.engine.history = recorder;
    await live(on, STEPS.slice(0, 1));
    const closed = recorder.close();
    written.resolve();
    await closed;
    await live(on, STEPS.slice(1, 2));
    await recorder.settled();
    expect(calls).toEqual(['tidy', 'close']);
  });

  it('has ended each thread that it began, also one that was given up, and begins no other', async () => {
    const folder = freshFolder();
    const desk = new ThreadDesk(settingsOf(folder));
    await desk.tidy(0);
    await desk.close();
    await expect(desk.tidy(0)).rejects.toThrow('the recording was ended');
  });

  it('writes nothing more when the right to act is lost', async () => {
    const [on, folder] = [startOnPlatform(), freshFolder()];
    const recorder = recorderOf(on, new ThreadDesk(settingsOf(folder)));
    on.engine.history = recorder;
    await live(on, STEPS.slice(0, 1));
    await recorder.settled();
    await live(on, STEPS.slice(1, 2));
    await recorder.cut();
    const written = runsOf(await itemsOf(folder));
    await live(on, STEPS.slice(2, 3));
    await recorder.close();
    expect(runsOf(await itemsOf(folder))).toEqual(written);
    expect(recorder.state.recorded + recorder.state.lost).toBe(3);
  });
});

it('a clock that the server does not agree with removes nothing of the history', async () => {
  const on = startOnPlatform();
  const tidied: number[] = [];
  const recorder = recorderOf(on, {
    open: async () => {},
    presentPrints: async () => new Int32Array(0),
    eventsAfter: async () => 0,
    events: async () => {},
    ahead: async () => {},
    record: async () => {},
    tidy: async (nowMs) => void tidied.push(nowMs),
    restart: () => {},
    close: async () => {},
  });
  on.engine.history = recorder;
  on.platform.skewMs = () => -40 * 86_400_000;
  await live(on, STEPS.slice(0, 2));
  await recorder.settled();
  expect(tidied).toEqual([]);
  on.platform.skewMs = () => 0;
  await live(on, STEPS.slice(2, 3));
  await recorder.settled();
  expect(tidied).toHaveLength(1);
});

describe('a history that cannot be recorded', () => {
  const broken: [string, () => RecordingDesk][] = [
    ['fails', () => deskThat(() => Promise.reject(new Error('no')))],
    [
      'throws',
      () =>
        deskThat(() => {
          throw new Error('no');
        }),
    ],
  ];
  it.each(broken)('changes no run when it %s, and is told once', async (_name, deskOf) => {
    const [on, plain] = [startOnPlatform(), startOnPlatform()];
    const told: string[] = [];
    on.engine.log = { ...on.engine.log, warn: (_fields, message) => void told.push(message) };
    const recorder = recorderOf(on, deskOf());
    on.engine.history = recorder;
    expect(await live(on)).toEqual(await live(plain));
    expect(on.platform.effects).toEqual(plain.platform.effects);
    await recorder.settled();
    expect(recorder.fault).toBe('no');
    expect(recorder.state.lost).toBe(STEPS.length);
    expect(told).toHaveLength(1);
  });

  it('holds up no run when it does not answer, and holds few of them', async () => {
    const [on, plain] = [startOnPlatform(), startOnPlatform()];
    const desk = deskThat(() => new Promise(() => {}));
    const sleep = (ms: number) => (ms > 300_000 ? new Promise<void>(() => {}) : Promise.resolve());
    const clock = { nowMs: () => 0, monotonicMs: () => 0, sleep };
    const recorder = new RunRecorder(desk, on.store, clock, on.engine.log);
    on.engine.history = recorder;
    expect(await live(on)).toEqual(await live(plain));
    expect(recorder.state.lost).toBe(STEPS.length - 3);
    expect(recorder.fault).toBe('runs come faster than they can be recorded');
    await expect(recorder.settledSoon()).rejects.toThrow('the last run is still being recorded');
  });

  it('is given up when it does not answer for long, and another thread begins', async () => {
    const on = startOnPlatform();
    let begun = 0;
    const desk = { ...deskThat(() => new Promise(() => {})), restart: () => void begun++ };
    const recorder = new RunRecorder(
      desk,
      on.store,
      { nowMs: () => 0, monotonicMs: () => 0, sleep: async () => {} },
      on.engine.log,
    );
    on.engine.history = recorder;
    await live(on, STEPS.slice(0, 1));
    await recorder.settled();
    expect([begun, recorder.state.lost]).toEqual([1, 1]);
    expect(recorder.fault).toMatch(/did not answer within 10 minutes/);
  });

  it('is waited for as long as its steps go on, however long it takes', async () => {
    const on = startOnPlatform();
    let [begun, steps, waited] = [0, 0, 0];
    const { promise: recorded, resolve } = Promise.withResolvers<void>();
    const desk = {
      ...deskThat(async () => Promise.reject(new Error('not asked'))),
      eventsAfter: async () => 0,
      events: async () => {},
      record: () => recorded,
      tidy: async () => {},
      restart: () => void begun++,
      get steps() {
        return steps;
      },
    };
    const sleep = async () => {
      steps += 1;
      waited += 1;
      if (waited > 5) resolve();
    };
    const recorder = new RunRecorder(desk, on.store, { nowMs: () => 0, monotonicMs: () => 0, sleep }, on.engine.log);
    recorder.beginsAnew();
    on.engine.history = recorder;
    await live(on, STEPS.slice(0, 1));
    await recorder.settled();
    expect([begun, recorder.state]).toEqual([0, { fault: undefined, recorded: 1, lost: 0 }]);
    expect(waited).toBeGreaterThan(5);
  });

  it('shows the steps of its thread', async () => {
    const [on, folder] = [startOnPlatform(), freshFolder()];
    const desk = new ThreadDesk(settingsOf(folder));
    const recorder = recorderOf(on, desk);
    on.engine.history = recorder;
    expect(desk.steps).toBe(0);
    await live(on, STEPS.slice(0, 1));
    await recorder.settled();
    expect(desk.steps).toBeGreaterThan(0);
    await recorder.close();
  });

  it('is a gap, and what comes after it is against what was recorded last', async () => {
    const [on, folder] = [startOnPlatform(), freshFolder()];
    const own = new DirectDesk(settingsOf(folder));
    let isBroken = false;
    const record: RecordingDesk['record'] = (run) => (isBroken ? Promise.reject(new Error('full')) : own.record(run));
    const recorder = recorderOf(on, Object.assign(Object.create(own) as RecordingDesk, { record }));
    on.engine.history = recorder;
    for (const [at, step] of STEPS.entries()) {
      isBroken = at === 3 || at === 4;
      await live(on, [step]);
      await recorder.settled();
      expect(recorder.fault).toBe(isBroken ? 'full' : undefined);
    }
    const items = await itemsOf(folder);
    expect(items.map(({ kind }) => kind)).toEqual(['state', 'run', 'run', 'run', 'gap', 'run', 'run']);
    expect(items.flatMap((item) => (item.kind === 'gap' ? [item.gap.cause] : []))).toEqual(['not_recorded']);
    const devices = [...on.platform.devices.values()] as Facts[];
    const world = worldOf(runsOf(items));
    expect(world.size).toBe(devices.length);
    expect(world.get('d3')?.get('MdmData.CompromisedStatus')).toBe('TRUE');
    expect(world.get('d2')?.get('MdmData.CompromisedStatus')).toBe('FALSE');
  });

  it('that falls behind still has each event a run counted, and the store keeps none of them longer than for it', async () => {
    const [on, folder] = [startOnPlatform({ rules: [ruleOf({ when: LOGGED })] }), freshFolder()];
    const own = new DirectDesk(settingsOf(folder));
    const { promise: freed, resolve: free } = Promise.withResolvers<void>();
    const eventsAfter: RecordingDesk['eventsAfter'] = (run) => freed.then(() => own.eventsAfter(run));
    const sleep = (ms: number) => (ms > 300_000 ? new Promise<void>(() => {}) : Promise.resolve());
    const clock = { nowMs: () => on.clock.nowMs(), monotonicMs: () => 0, sleep };
    const desk = Object.assign(Object.create(own) as RecordingDesk, { eventsAfter });
    const recorder = new RunRecorder(desk, on.store, clock, on.engine.log);
    on.engine.history = recorder;
    const counted = [on.platform.addDevice('d1'), on.platform.addDevice('d2')].map(() => '');
    for (const at of counted.keys()) {
      addEvent(on, `d${at + 1}`);
      counted[at] = String(on.platform.eventLog.at(-1)?.id);
      expect((await on.run()).decisions.map(({ subject }) => subject.id)).toEqual([`d${at + 1}`]);
      on.clock.pass(7_200_000);
    }
    free();
    await recorder.settled();
    const recorded = runsOf(await itemsOf(folder)).flatMap(({ events }) => events.map(({ id }) => id));
    expect(recorded).toEqual(counted);
    addEvent(on, 'd1');
    await on.run();
    const kept = [];
    for await (const batch of on.store.events(0)) kept.push(...batch.map(({ id }) => id));
    expect(kept).toEqual([on.platform.eventLog.at(-1)?.id]);
  });

  it('says that its folder is in the way of a file, and records again when it is not', async () => {
    const [on, folder] = [startOnPlatform(), freshFolder()];
    writeFileSync(folder, 'a file');
    const recorder = recorderOf(on, new DirectDesk(settingsOf(folder)));
    on.engine.history = recorder;
    await live(on, STEPS.slice(0, 2));
    await recorder.settled();
    expect(recorder.fault).toMatch(/history/);
    rmSync(folder);
    await live(on, STEPS.slice(2));
    await recorder.settled();
    expect(recorder.fault).toBeUndefined();
    expect(worldOf(runsOf(await itemsOf(folder))).size).toBe(6);
  });
});

const LOGGED = { '>=': [{ event_count: { within: '1h' } }, 1] };

function deskThat(fails: () => Promise<never>): RecordingDesk {
  const calls = { open: fails, presentPrints: fails, eventsAfter: fails, events: fails, ahead: fails };
  return { ...calls, record: fails, tidy: fails, restart: () => {}, close: async () => {} };
}

describe('a thread that several databases share', () => {
  it('goes on for the others when one is closed while its first list is being recorded', async () => {
    const thread = new DeskThread(true);
    const deskOf = () => new ThreadDesk(settingsOf(freshFolder()), thread);
    const [desk, other] = [deskOf(), deskOf()];
    await desk.open();
    const recorder = recorderOf(startOnPlatform(), desk);
    recorder.beginsAnew();
    const list = recorder.changedList('device');
    const records = Array.from({ length: 1_000 }, (_, at) => ({ DeviceID: `d${at}`, Name: `n${at}` }));
    for (let count = 0; count < 5; count += 1) list?.keep(packRecords(records));
    const asked = other.presentPrints('device', 'paged');
    await recorder.close();
    expect(await asked).toHaveLength(0);
    await thread.close();
  });

  it('records each in its own folder, and goes on for the others when one is closed', async () => {
    const thread = new DeskThread(true);
    const all = [0, 1].map(() => ({ on: startOnPlatform(), folder: freshFolder() }));
    const recorders = all.map(({ on, folder }) => recorderOf(on, new ThreadDesk(settingsOf(folder), thread)));
    all.forEach(({ on }, at) => {
      on.engine.history = recorders[at];
    });
    const [first, second] = all as [(typeof all)[0], (typeof all)[0]];
    await live(first.on, STEPS.slice(0, 2));
    await live(second.on, STEPS.slice(0, 1));
    await recorders[0]?.close();
    await live(second.on, STEPS.slice(1, 3));
    await recorders[1]?.close();
    await thread.close();
    const runs = await Promise.all(all.map(async ({ folder }) => runsOf(await itemsOf(folder)).length));
    expect(runs).toEqual([2, 3]);
    expect(recorders.map((recorder) => recorder.state.lost)).toEqual([0, 0]);
  });

  it('ends with a desk that is closed before it has answered, and begins again for the others', async () => {
    const thread = new DeskThread(true);
    const [hanging, other] = [
      new ThreadDesk(settingsOf(freshFolder()), thread),
      new ThreadDesk(settingsOf(freshFolder()), thread),
    ];
    const asked = hanging.tidy(0);
    const failed = expect(asked).rejects.toMatchObject({ message: 'the thread that records was ended' });
    await hanging.close();
    await failed;
    expect(await other.presentPrints('device', 'paged')).toEqual(new Int32Array(0));
    await thread.close();
  });
});

it('a row of facts of a device that was forgotten is not in its record, and is recorded again when it is still read', async () => {
  const [on, folder, inventory] = [
    startOnPlatform({ rules: [inventoryRule('given')] }),
    freshFolder(),
    new GivenInventory(),
  ];
  on.engine.given = inventory.gate;
  for (const id of ['d1', 'd2']) on.platform.addDevice(id);
  inventory.read(
    ['S-d1', 'S-d2'].map((serial) => [serial, { status: 'returned' }]),
    on.clock.nowMs(),
  );
  for (const isForgotten of [false, true]) {
    const forgetting = {
      subject: { kind: 'device', id: 'd2' },
      atMs: on.clock.nowMs(),
      standIn: 'forgotten-1',
    } as const;
    if (isForgotten) forgetSubject(folder, forgetting);
    const recorder = recorderOf(on, new DirectDesk(settingsOf(folder)));
    on.engine.history = recorder;
    await live(on, [() => {}, () => {}]);
    await recorder.close();
  }
  const rows = runsOf(await itemsOf(folder)).map(({ frame }) => frame.given?.get('inventory')?.rows.count);
  expect(rows).toEqual([1, 1, 2, 2]);
  await on.close();
});
