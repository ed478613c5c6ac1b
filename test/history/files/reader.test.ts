// test: reading the history: every run once, in order; what held before the first one; each stretch that is lost; and runs larger than memory holds.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FactChange } from '../../../src/domain/look-back.ts';
import type { HistoryGap, HistoryQuery } from '../../../src/domain/recorded-history.ts';
import { verifyHistory } from '../../../src/history/files/forget.ts';
import { historyReader } from '../../../src/history/files/read-items.ts';
import { bytesOf, readColumns, SegmentBytes } from '../../../src/history/files/segment-bytes.ts';
import { listHistory } from '../../../src/history/files/segment-files.ts';
import { HistoryWriter, scanRuns, tidyHistory } from '../../../src/history/files/tidy.ts';
import { type PlainRun, plainDecoder } from './plain-decoder.ts';
import { DAY, HOUR, MINUTE, runRows, type Said, START } from './rows.ts';

describe('reading the history', () => {
  const ABOUT = { program: 'trustward 0.1.0', address: 'http://127.0.0.1:1' };
  const ALWAYS = { fromMs: 0, toMs: START + 400 * DAY };
  let folder: string;
  beforeEach(() => {
    folder = join(mkdtempSync(join(tmpdir(), 'history-')), 'db.history');
  });
  afterEach(() => rmSync(dirname(folder), { recursive: true }));

  const reader = (address = ABOUT.address) => historyReader({ folder, address, newDecoder: plainDecoder });
  const unboundReader = () => historyReader({ folder, address: undefined, newDecoder: plainDecoder });

  interface Read {
    /** `state`, `run 3`, `gap damaged`, in order. */
    order: string[];
    states: { facts: FactChange[]; events: string[] }[];
    runs: PlainRun[];
    gaps: HistoryGap[];
  }

  async function read(query: HistoryQuery = ALWAYS, from = reader()): Promise<Read> {
    const found: Read = { order: [], states: [], runs: [], gaps: [] };
    for await (const item of from.items(query)) {
      if (item.kind === 'state') {
        const state = { facts: [] as FactChange[], events: [] as string[] };
        for await (const piece of item.facts) state.facts.push(...piece);
        for await (const piece of item.events) state.events.push(...piece.map(({ id }) => id));
        found.states.push(state);
        found.order.push('state');
      } else if (item.kind === 'run') {
        found.runs.push(item.run as PlainRun);
        found.order.push(`run ${item.run.frame.run.seq}`);
      } else {
        found.gaps.push(item.gap);
        found.order.push(`gap ${item.gap.cause}`);
      }
    }
    return found;
  }

  const device = (path: string, value?: string): Said => ['device', 'd1', path, value];

  describe('reading', () => {
    it('gives frames alone when no more is asked for, also of runs with very many facts', async () => {
      const writer = new HistoryWriter(folder, ABOUT);
      const many = Array.from({ length: 120_000 }, (_, at): Said => ['device', `d${at}`, 'OS', '"14"']);
      writer.writeRun(runRows(1, START, [['claim', 'c1', '', '{}'], ['setting', 's', '', '{}'], ...many]));
      writer.writeRun(runRows(2, START + MINUTE, [device('OS', '"15"'), ['event', 'e1', '', '{}']]));
      await tidyHistory(folder, { ...ABOUT, nowMs: START + 3 * HOUR, keepMs: 30 * DAY });
      const { order, runs, states } = await read({ ...ALWAYS, framesOnly: true });
      expect([order, states]).toEqual([['state', 'run 1', 'run 2'], [{ facts: [], events: [] }]]);
      expect(runs.map(({ changes, rows }) => [[...changes].length, rows.map(({ kind }) => kind)])).toEqual([
        [0, ['run', 'setting']],
        [0, ['run']],
      ]);
    });

    it('gives every run with its changes and its other rows, after what held before it', async () => {
      const writer = new HistoryWriter(folder, ABOUT);
      writer.writeRun(runRows(1, START, [device('OS', '"14"'), ['event', 'e1', '', '{}'], ['claim', 'c1', '', '{}']]));
      writer.writeRun(runRows(2, START + MINUTE, [device('OS', '"15"'), ['aside.device', 'd2', 'OS', '1']]));
      const { order, states, runs } = await read();
      expect(order).toEqual(['state', 'run 1', 'run 2']);
      expect(states).toEqual([{ facts: [], events: [] }]);
      expect(runs[0]?.changes).toEqual([{ kind: 'device', subject: 'd1', path: 'OS', value: '14' }]);
      expect(runs[0]?.rows.map(({ kind }) => kind)).toEqual(['run', 'event', 'claim']);
      expect(runs[1]?.changes).toEqual([
        { kind: 'device', subject: 'd1', path: 'OS', value: '15' },
        { kind: 'device', subject: 'd2', path: 'OS', value: 1 },
      ]);
    });

    it('begins in the middle with what held then, and never with what an untrusted reading showed', async () => {
      const writer = new HistoryWriter(folder, ABOUT);
      const big = 12345678901234567890n;
      writer.writeRun(
        runRows(1, START, [
          device('OS', '"14"'),
          device('Big', `${big}`),
          device('Key', '{"$secret":true}'),
          ['claim', 'c1', '', '{}'],
          ['event', 'e1', '', '{}'],
        ]),
      );
      writer.writeRun(
        runRows(2, START + MINUTE, [device('OS'), ['aside.device', 'd1', 'Big', '1'], ['device', 'd2', 'OS', '1']]),
      );
      writer.writeRun(runRows(3, START + 2 * MINUTE, [['device', 'd2', '']]));
      const { order, states, runs } = await read({ ...ALWAYS, fromMs: START + 2 * MINUTE });
      expect(order).toEqual(['state', 'run 3']);
      expect(states[0]?.facts).toEqual([
        { kind: 'device', subject: 'd1', path: 'Big', value: big },
        { kind: 'device', subject: 'd1', path: 'Key', value: undefined, secret: true },
        { kind: 'device', subject: 'd2', path: 'OS', value: 1 },
      ]);
      expect(states[0]?.events).toEqual(['e1']);
      expect(runs[0]?.begun).toMatchObject([{ kind: 'claim', subject: 'c1', value: '{}' }]);
      expect(runs[0]?.changes).toEqual([{ kind: 'device', subject: 'd2', path: '', value: undefined }]);
    });

    it('ends with the last run that was asked for', async () => {
      const writer = new HistoryWriter(folder, ABOUT);
      for (const run of [1, 2, 3]) writer.writeRun(runRows(run, START + run * MINUTE));
      expect((await read({ fromMs: START + 2 * MINUTE, toMs: START + 2 * MINUTE })).order).toEqual(['state', 'run 2']);
      expect((await read({ fromMs: START + 4 * MINUTE, toMs: START + DAY })).order).toEqual([]);
    });

    it('gives wanted facts, what they are part of and what identifies subjects, and without open states when they are not asked for', async () => {
      const writer = new HistoryWriter(folder, ABOUT);
      const said = [
        device('OS', '1'),
        device('A.B', '2'),
        device('A.C', '3'),
        device('Model', '"m"'),
        device('Z', '4'),
      ];
      writer.writeRun(runRows(1, START, [...said, ['user', 'u', 'OS', '5'], ['claim', 'c1', '', '{}']]));
      const facts = new Map([['device' as const, new Set(['OS', 'A.B.X'])]]);
      const { runs } = await read({ ...ALWAYS, facts, factsOnly: true });
      expect([...(runs[0]?.changes ?? [])].map(({ path }) => path)).toEqual(['OS', 'A.B', 'Model']);
      expect(runs[0]?.rows.map(({ kind }) => kind)).toEqual(['run']);
    });

    it('names runs that were not recorded, and a database that was restored to an earlier state', async () => {
      const writer = new HistoryWriter(folder, ABOUT);
      for (const [run, at] of [
        [1, 1],
        [4, 2],
        [2, 3],
        [3, 4],
      ] as const)
        writer.writeRun(runRows(run, START + at * MINUTE));
      const { order, gaps } = await read();
      expect(order).toEqual(['state', 'run 1', 'gap not_recorded', 'run 4', 'gap not_recorded', 'run 2', 'run 3']);
      expect(gaps[0]).toMatchObject({
        fromMs: START + MINUTE,
        toMs: START + 2 * MINUTE,
        text: 'runs 2 to 3 are not in the record',
      });
      expect(gaps[1]?.text).toContain('restored to an earlier state');
    });
  });

  describe('a stretch that is not in the record', () => {
    const at = (minute: number) => START + minute * MINUTE;
    const between = (from: number, to: number) => ({ fromMs: at(from), toMs: at(to) });

    /** Runs 1 and 2, then 6: each in a file of its own, as they are recorded. */
    function lackingRuns(): void {
      const writer = new HistoryWriter(folder, ABOUT);
      for (const run of [1, 2, 6]) writer.writeRun(runRows(run, at(run)));
    }
    const GAP = { fromMs: at(2), toMs: at(6), cause: 'not_recorded', text: 'runs 3 to 5 are not in the record' };

    it.each([
      ['begins', between(4, 6), ['gap not_recorded', 'state', 'run 6']],
      ['ends', between(1, 4), ['state', 'run 1', 'run 2', 'gap not_recorded']],
      ['lies', between(3, 5), ['gap not_recorded']],
    ])('is named also when a query %s within it', async (_how, query, order) => {
      lackingRuns();
      const found = await read(query);
      expect([found.order, found.gaps]).toEqual([order, [GAP]]);
      new HistoryWriter(folder, ABOUT).writeRun(runRows(7, START + DAY));
      await tidyHistory(folder, { ...ABOUT, nowMs: START + DAY, keepMs: 30 * DAY });
      expect(listHistory(folder).segments).toHaveLength(3);
      const merged = await read(query);
      expect([merged.order, merged.gaps]).toEqual([order, [GAP]]);
    });

    it('is not named when a query only comes up to it, on either side', async () => {
      lackingRuns();
      expect((await read(between(1, 2))).order).toEqual(['state', 'run 1', 'run 2']);
      expect((await read(between(6, 9))).order).toEqual(['state', 'run 6']);
    });

    it('is named where a query begins in a part whose files are gone', async () => {
      const writer = new HistoryWriter(folder, ABOUT);
      for (const run of [1, 2, 3, 4]) writer.writeRun(runRows(run, at(run)));
      for (const { file } of listHistory(folder).segments.slice(1, 3)) rmSync(file);
      const text = 'the segments of 2 runs are missing';
      const lost = { fromMs: at(1), toMs: at(4), cause: 'damaged', text };
      expect((await read({ fromMs: at(2), toMs: at(3) })).gaps).toEqual([lost]);
      expect((await read({ fromMs: at(0), toMs: at(2) })).gaps).toEqual([lost]);
    });

    it('goes from the newest record to the newest run of the database, as far as a query asks', async () => {
      lackingRuns();
      const beside = (run: number, minute: number) =>
        historyReader({
          folder,
          address: ABOUT.address,
          newDecoder: plainDecoder,
          newestRun: async () => ({ run, atMs: at(minute) }),
        });
      const newest = async (run: number, minute: number, query: HistoryQuery = between(6, 60)) =>
        (await read(query, beside(run, minute))).gaps;
      const gap = (minute: number, text: string) => [{ fromMs: at(6), toMs: at(minute), cause: 'not_recorded', text }];
      expect(await newest(6, 6)).toEqual([]);
      expect(await newest(7, 10)).toEqual(gap(10, 'run 7 is not in the record, or not yet'));
      expect(await newest(9, 20)).toEqual(gap(20, 'runs 7 to 9 are not in the record'));
      expect(await newest(9, 20, between(30, 60))).toEqual([]);
      expect(await newest(9, 20, between(6, 12))).toEqual(gap(20, 'runs 7 to 9 are not in the record'));
      // An older database was put in its place: it has done runs since, or none.
      expect(await newest(4, 20)).toEqual(gap(20, 'the runs since are not in the record'));
      expect(await newest(4, 4)).toEqual([]);
    });
  });

  describe('a part of the history that cannot be read', () => {
    /** Days of two runs each, each day with a base but the first. */
    function threeDays(): void {
      const writer = new HistoryWriter(folder, ABOUT);
      for (const day of [0, 1, 2]) {
        if (day > 0)
          writer.writeBase(
            [{ at: START, kind: 'device', subject: 'd1', path: 'Day', value: `${day}` }],
            START + day * DAY,
          );
        for (const run of [1, 2])
          writer.writeRun(runRows(day * 2 + run, START + day * DAY + run * HOUR, [device('Day', `${day}.${run}`)]));
      }
    }
    const segment = (place: number) =>
      listHistory(folder).segments.find(({ first, level }) => first === place && level === 'run')?.file as string;

    it.each<[string, (file: string) => void, string]>([
      ['a flipped bit', (file) => writeFileSync(file, flipped(readFileSync(file))), 'damaged'],
      ['an end that is cut off', (file) => writeFileSync(file, readFileSync(file).subarray(0, 99)), 'damaged'],
      ['no content', (file) => writeFileSync(file, ''), 'damaged'],
      ['no file', (file) => rmSync(file), 'damaged'],
    ])('is named, with its time, and reading goes on with the next base: %s', async (_, spoil, cause) => {
      threeDays();
      spoil(segment(2));
      const { order, gaps, states } = await read();
      expect(order).toEqual(['state', 'run 1', `gap ${cause}`, 'state', 'run 3', 'run 4', 'run 5', 'run 6']);
      expect(gaps[0]?.fromMs).toBeGreaterThanOrEqual(START + HOUR);
      expect(gaps[0]?.fromMs).toBeLessThanOrEqual(START + 2 * HOUR);
      expect(gaps[0]?.toMs).toBeGreaterThanOrEqual(START + 2 * HOUR);
      expect(states[1]?.facts).toEqual([{ kind: 'device', subject: 'd1', path: 'Day', value: 1 }]);
    });

    it('at the end, where no base follows, is a gap up to the end', async () => {
      threeDays();
      writeFileSync(segment(5), '');
      const { order, gaps } = await read();
      expect(order).toEqual(['state', 'run 1', 'run 2', 'run 3', 'run 4', 'gap damaged']);
      expect(gaps[0]).toMatchObject({ fromMs: START + 2 * DAY + HOUR, toMs: START + 2 * DAY + 2 * HOUR });
      expect(gaps[0]?.text).toContain('no base after it is kept');
    });

    it('before the time that is asked for is a gap from its beginning on', async () => {
      threeDays();
      writeFileSync(segment(3), '');
      const { order, gaps } = await read({ ...ALWAYS, fromMs: START + DAY + 2 * HOUR });
      expect(order).toEqual(['gap damaged', 'state', 'run 5', 'run 6']);
      expect(gaps[0]?.fromMs).toBe(START + DAY + 2 * HOUR);
    });

    it('is made good by an earlier base, when it is a base', async () => {
      threeDays();
      const base = listHistory(folder).segments.find(({ level }) => level === 'base')?.file as string;
      writeFileSync(base, '');
      const { order, states } = await read({ ...ALWAYS, fromMs: START + DAY });
      expect(order).toEqual(['state', 'run 3', 'run 4', 'run 5', 'run 6']);
      expect(states[0]?.facts).toMatchObject([{ value: 0.2 }]);
    });

    it('is a gap of its day when its folder is gone', async () => {
      threeDays();
      rmSync(dirname(segment(3)), { recursive: true });
      const { order, gaps } = await read();
      expect(order).toEqual(['state', 'run 1', 'run 2', 'gap damaged', 'state', 'run 5', 'run 6']);
      expect(gaps[0]).toMatchObject({
        fromMs: START + 2 * HOUR,
        toMs: START + 2 * DAY + HOUR,
        text: 'the segments of 2 runs are missing',
      });
    });

    it('is foreign when it is of another API address, and of another version when its schema is', async () => {
      threeDays();
      const other = await read(ALWAYS, reader('http://elsewhere'));
      expect(other.order).toEqual(['gap foreign']);
      expect(other.gaps[0]?.text).toContain('another API address');
    });

    it('is never of two addresses: without a database to ask, the newest record shows whose history it is', async () => {
      threeDays();
      new HistoryWriter(folder, { ...ABOUT, address: 'http://elsewhere' }).writeRun(
        runRows(7, START + 2 * DAY + 3 * HOUR),
      );
      const { order, gaps } = await read(ALWAYS, unboundReader());
      expect(order).not.toContain('run 6');
      expect(gaps[0]?.text).toContain('another API address');
    });

    it('is damaged when a pipe or a folder has its name, which nobody waits for', async () => {
      threeDays();
      for (const [no, make] of [
        [1, (file: string) => execFileSync('mkfifo', [file])],
        [2, mkdirSync],
      ] as const) {
        const file = segment(no);
        rmSync(file);
        make(file);
      }
      const { gaps } = await read();
      expect(gaps.map(({ cause }) => cause)).toContain('damaged');
      expect(
        verifyHistory(folder, undefined)
          .problems.map(({ text }) => text)
          .slice(0, 2),
      ).toEqual(['it is no regular file', 'it is no regular file']);
    });

    it('is not read when a person put another file there', async () => {
      threeDays();
      renameSync(segment(6), join(dirname(segment(6)), 'notes.parquet'));
      expect((await read()).order).toEqual(['state', 'run 1', 'run 2', 'run 3', 'run 4', 'run 5']);
      expect(listHistory(folder).foreign).toHaveLength(1);
    });
  });

  describe('one subject', () => {
    it('has the facts that were known at a time, and when they were seen last', async () => {
      const writer = new HistoryWriter(folder, ABOUT);
      writer.writeRun(runRows(1, START, [device('OS', '1'), device('Model', '"m"')]));
      writer.writeRun(runRows(2, START + HOUR, [device('OS', '2'), ['aside.device', 'd1', 'OS', '9']]));
      writer.writeRun(runRows(3, START + 2 * HOUR));
      writer.writeBase([{ at: START, kind: 'device', subject: 'd1', path: 'OS', value: '2' }]);
      writer.writeRun(runRows(4, START + DAY, [device('')]));
      const at = (ms: number) => reader().factsAt({ kind: 'device', id: 'd1' }, ms);
      expect(await at(START - 1)).toBeUndefined();
      expect(await at(START)).toEqual({ facts: { OS: 1, Model: 'm' }, seenAt: START });
      expect(await at(START + 3 * HOUR)).toEqual({ facts: { OS: 2, Model: 'm' }, seenAt: START + 2 * HOUR });
      expect(await at(START + DAY)).toBeUndefined();
      expect(await reader().factsAt({ kind: 'user', id: 'd1' }, START)).toBeUndefined();
    });

    it('has its changes, the oldest first, each with its run', async () => {
      const writer = new HistoryWriter(folder, ABOUT);
      writer.writeRun(runRows(1, START, [device('OS', '1'), ['device', 'd2', 'OS', '7'], ['user', 'd1', 'OS', '8']]));
      writer.writeRun(runRows(2, START + HOUR, [device('OS'), ['aside.device', 'd1', 'OS', '9']]));
      const changes: unknown[] = [];
      for await (const one of reader().changesOf({ kind: 'device', id: 'd1' }, 0, START + DAY)) changes.push(one);
      expect(changes).toEqual([
        { kind: 'device', subject: 'd1', path: 'OS', value: 1, atMs: START, runSeq: 1 },
        { kind: 'device', subject: 'd1', path: 'OS', value: undefined, atMs: START + HOUR, runSeq: 2 },
      ]);
    });
  });

  it('the rule set of a hash is found in the newest segment that has it', async () => {
    const writer = new HistoryWriter(folder, ABOUT);
    writer.writeRun(
      runRows(1, START, [
        ['rules', 'h1', 'a.yaml', '"id: a"'],
        ['rules', 'h1', 'b.yaml', '"id: b"'],
      ]),
    );
    writer.writeRun(runRows(2, START + HOUR));
    expect(await reader().ruleSet('h1')).toEqual({
      hash: 'h1',
      files: new Map([
        ['a.yaml', 'id: a'],
        ['b.yaml', 'id: b'],
      ]),
    });
    expect(await reader().ruleSet('h2')).toBeUndefined();
    expect(await reader().span()).toEqual({ fromMs: START, toMs: START + HOUR });
  });

  function flipped(bytes: Buffer): Buffer {
    bytes[50] = (bytes[50] as number) ^ 4;
    return bytes;
  }
});

describe('a run with more changes than are held in memory gives the same as its rows, each time they are asked for, and so do the runs beside it', () => {
  const ABOUT = { program: 'test', address: 'http://platform.test', forgotten: [] };
  /** More than a group of rows has, so that the run begins in one group and ends in the next one. */
  const MANY = 260_000;

  it('a run of very many changes has each wanted one, in order, as often as it is read', () => {
    const bytes = new SegmentBytes(ABOUT);
    const facts = (run: number, count: number) => {
      bytes.add(run, run, 'run', '', 'run', '{}');
      for (let index = 0; index < count; index++)
        bytes.add(run, run, 'device', `d${index >> 1}`, index % 2 === 0 ? 'OS' : 'Model', `"${index % 1_000}"`);
      bytes.add(run, run, 'event', `e${run}`, 'json', '{}');
    };
    facts(1, 3);
    facts(2, MANY);
    facts(3, 5);
    const wanted = { fact: (_: string, path: string) => path === 'OS', row: (kind: string) => kind !== 'run' };
    const runs = [...scanRuns(readColumns(bytesOf(bytes.finish())), wanted)];

    expect(runs.map(({ run, rows }) => [run, rows.map(({ subject }) => subject)])).toEqual([
      [1, ['e1']],
      [2, ['e2']],
      [3, ['e3']],
    ]);
    expect(runs.map(({ changes }) => Array.isArray(changes))).toEqual([true, false, true]);
    for (const count of [3, MANY, 5]) {
      const changes = runs.shift()?.changes ?? [];
      for (let turn = 0; turn < 2; turn++) {
        let index = 0;
        for (const { kind, subject, path, value } of changes) {
          if (kind !== 'device' || path !== 'OS' || subject !== `d${index >> 1}` || value !== String(index % 1_000))
            expect.unreachable(`change ${index} is ${subject} ${path} ${value}`);
          index += 2;
        }
        expect(index).toBe(count + (count % 2));
      }
    }
  }, 300_000);
});
