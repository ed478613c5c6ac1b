// test: verifying, forgetting and copying a history, whatever people or tools did to its folder and files. In: segments. Out: checks, rows, files.

import { createHash } from 'node:crypto';
import { chmodSync, cpSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { SchemaElement } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ExemptionMembers, membersOf } from '../../../src/domain/exemption.ts';
import type { HistoryGap } from '../../../src/domain/recorded-history.ts';
import { rowsOf } from '../../../src/history/files/begin.ts';
import { forgetSubject, verifyHistory } from '../../../src/history/files/forget.ts';
import { historyReader } from '../../../src/history/files/read-items.ts';
import { COLUMNS, fileNameOf, GZIP, SCHEMA } from '../../../src/history/files/segment-bytes.ts';
import { copyHistory, listHistory, readSegment, type SegmentFile } from '../../../src/history/files/segment-files.ts';
import { HistoryWriter, tidyHistory } from '../../../src/history/files/tidy.ts';
import { FolderRecording } from '../../../src/history/record/folder-recording.ts';
import { PRINT_KEY } from '../../support/print-key.ts';
import { plainDecoder } from './plain-decoder.ts';
import { DAY, HOUR, lastRows, runRows, type Said, START } from './rows.ts';

const ABOUT = { program: 'trustward 0.1.0', address: 'http://127.0.0.1:1' };

describe('verifying, forgetting and copying a history; another tool reads it', async () => {
  let folder: string;
  beforeEach(() => {
    folder = join(mkdtempSync(join(tmpdir(), 'history-')), 'db.history');
  });
  afterEach(() => rmSync(dirname(folder), { recursive: true }));

  const rows = () => listHistory(folder).segments.flatMap((segment) => [...rowsOf(readSegment(segment))]);

  /** Three days, the first two merged, with a base each. */
  async function record(): Promise<void> {
    const writer = new HistoryWriter(folder, ABOUT);
    for (let run = 1; run <= 9; run++) {
      writer.writeRun(
        runRows(run, START + ((run - 1) % 3) * HOUR + Math.floor((run - 1) / 3) * DAY, [
          ['user', 'Ann@x.org', 'Name', `"Ann ${run}"`],
          ['user', 'joann@x.org', 'Name', '"Jo"'],
          ['aside.user', 'ann@x.org', 'Name', '"Ann"'],
          ['device', 'd1', 'Emails', `["ann@x.org","joann@x.org","ann@x.org.uk"]`],
          ['device', 'd1', 'OS', `"${run}"`],
          ['event', `e${run}`, '', '{"email":"ann@x.org","name":"Ann"}'],
          ['decision', `r ${run}`, '', '{"subject":"ann@x.org"}'],
          ['given', 'people\nann@x.org', '', '{"name":"Ann"}'],
          ['setting', 'exempted', '', '"ANN@x.org"'],
          ['rules', 'h', 'a.yaml', '"Email: ann@x.org"'],
        ]),
      );
    }
    await tidyHistory(folder, { ...ABOUT, nowMs: START + 2 * DAY, keepMs: 30 * DAY });
  }

  const FORGETTING = {
    subject: { kind: 'user', id: 'ann@x.org' },
    atMs: START + 3 * DAY,
    standIn: 'forgotten-1',
  } as const;

  describe('forgetting a person', () => {
    it('leaves no record of them in any segment, nor their address but in rules, and nothing else changes', async () => {
      await record();
      const others = rows().filter(
        ({ subject, kind }) => subject === 'joann@x.org' || (kind === 'device' && subject === 'd1'),
      );
      const { removed, replaced, unreadable, inRules } = forgetSubject(folder, FORGETTING);
      expect(unreadable).toEqual([]);
      expect(removed).toBeGreaterThan(9 * 4);
      expect(replaced).toBeGreaterThan(9);
      expect(inRules).toBeGreaterThanOrEqual(9);
      const left = rows();
      expect(
        left
          .filter(({ kind }) => kind !== 'rules')
          .some((row) => /(?<!jo)ann@x\.org(?!\.uk)/i.test(JSON.stringify(row))),
      ).toBe(false);
      expect(left.some(({ value }) => value?.includes('"Ann'))).toBe(false);
      expect(left.find(({ path }) => path === 'Emails')?.value).toBe('["forgotten-1","joann@x.org","ann@x.org.uk"]');
      const stillThere = left.filter(
        ({ subject, kind }) => subject === 'joann@x.org' || (kind === 'device' && subject === 'd1'),
      );
      const without = (all: typeof left) => all.filter(({ path }) => path !== 'Emails').map(({ value }) => value);
      expect(without(stillThere)).toEqual(without(others));
      expect(verifyHistory(folder, ABOUT.address)).toMatchObject({ ok: true, runs: 9 });
    });

    it('is named as a gap, also after segments are merged, and every run is still there', async () => {
      await record();
      forgetSubject(folder, FORGETTING);
      new HistoryWriter(folder, ABOUT).writeRun(runRows(10, START + 3 * DAY));
      await tidyHistory(folder, { ...ABOUT, nowMs: START + 3 * DAY, keepMs: 30 * DAY });
      const seen: string[] = [];
      const reader = historyReader({ folder, address: ABOUT.address, newDecoder: plainDecoder });
      for await (const item of reader.items({ fromMs: START + DAY, toMs: START + 9 * DAY }))
        seen.push(item.kind === 'gap' ? item.gap.cause : item.kind);
      expect(new Set(seen.slice(0, seen.indexOf('state')))).toEqual(new Set(['forgotten']));
      expect(seen.filter((one) => one === 'run')).toHaveLength(7);
    });

    it('that was interrupted is finished by the next one, and finds nothing more after that', async () => {
      await record();
      const before = `${folder}.before`;
      cpSync(folder, before, { recursive: true });
      forgetSubject(folder, FORGETTING);
      const after = rows().length;
      cpSync(before, folder, { recursive: true });
      expect(verifyHistory(folder, ABOUT.address).ok).toBe(true);
      forgetSubject(folder, FORGETTING);
      await tidyHistory(folder, { ...ABOUT, nowMs: START + 2 * DAY, keepMs: 30 * DAY });
      expect(rows()).toHaveLength(after);
      expect(forgetSubject(folder, FORGETTING)).toMatchObject({ segments: 0, removed: 0, replaced: 0 });
    });

    it.each([
      '9ed9950e-51c9-43b3-b46d-ada9c5f56e79',
      'mary-jane+x@acme-corp.example',
      'a\\b[c](d)*^$|{2}/"',
      'é-\u{1F600}',
    ])('finds the id %s, whatever is in it', (id) => {
      const writer = new HistoryWriter(folder, ABOUT);
      const value = JSON.stringify([id, `${id}-2`]);
      writer.writeRun(
        runRows(1, START, [
          ['device', id, 'OS', '1'],
          ['device', 'd1', 'Peers', value],
        ]),
      );
      const { removed, replaced } = forgetSubject(folder, { ...FORGETTING, subject: { kind: 'device', id } });
      expect([removed, replaced]).toEqual([1, 1]);
      expect(rows().find(({ path }) => path === 'Peers')?.value).toBe(JSON.stringify(['forgotten-1', `${id}-2`]));
    });

    it('leaves no print of them among the members of an exemption, and those of others as they are', async () => {
      const serials = Array.from({ length: 20 }, (_, no) => `C0${no}`);
      const devices = serials.map((serial, no) => ({
        kind: 'device' as const,
        id: `d${no}`,
        serial,
        owners: ['Ann@x.org', `${no}@x.org`],
      }));
      const user = { kind: 'user' as const, id: 'ann@x.org', serial: '', owners: undefined };
      const all = membersOf([...devices, user]);
      const membersNow = (exemption: string) =>
        ExemptionMembers.of(
          exemption,
          JSON.parse(rows().find(({ kind, subject }) => kind === 'members' && subject === exemption)?.value ?? '""'),
        );
      const given = ['e1', 'e2'].map((id) => [
        'members',
        id,
        'json',
        JSON.stringify(ExemptionMembers.of(id).with(all).packed()),
      ]);
      new HistoryWriter(folder, ABOUT).writeRun(
        runRows(1, START, [
          ...(given as Said[]),
          ...devices.map(({ id, serial }): Said => ['device', id, 'SerialNumber', JSON.stringify(serial)]),
          ...['c02', 'c03'].map((serial): Said => ['given', `inventory\n${serial}`, '', '{"status":"lost"}']),
        ]),
      );
      forgetSubject(folder, FORGETTING);
      for (const exemption of ['e1', 'e2']) {
        const left = membersNow(exemption);
        const isAnn = ({ kind, id }: (typeof all)[number]) => kind === 'user' && id.toLowerCase() === 'ann@x.org';
        expect(all.filter((member) => left.has(member))).toEqual(all.filter((member) => !isAnn(member)));
        expect(left.size).toBe(40);
      }
      forgetSubject(folder, { ...FORGETTING, subject: { kind: 'device', id: 'd3' } });
      expect(membersNow('e1').has({ kind: 'device', id: 'd3', serial: 'C03' })).toBe(false);
      expect(membersNow('e1').size).toBe(39);
      expect(rows().flatMap(({ kind, subject }) => (kind === 'given' ? subject : []))).toEqual(['inventory\nc02']);
      expect(verifyHistory(folder, ABOUT.address)).toMatchObject({ ok: true, runs: 1 });
    });

    it('names the files that it could not read', async () => {
      await record();
      const [segment] = listHistory(folder).segments;
      writeFileSync(segment?.file as string, 'damaged');
      expect(forgetSubject(folder, FORGETTING).unreadable).toEqual([segment?.file]);
    });
  });

  describe('verifying', () => {
    it('names what is damaged, missing, foreign, or of another address', async () => {
      await record();
      expect(verifyHistory(folder, ABOUT.address)).toMatchObject({ ok: true, runs: 9, problems: [] });
      expect(verifyHistory(folder, 'http://elsewhere').problems[0]?.text).toBe('it is of another API address');
      const [first] = listHistory(folder).segments;
      writeFileSync(join(folder, '2026-06-01', 'x.parquet'), '');
      writeFileSync(first?.file as string, 'x');
      const { ok, problems } = verifyHistory(folder, ABOUT.address);
      expect(ok).toBe(false);
      expect(problems.map(({ text }) => text)).toEqual([
        'it has no name of a segment: move it elsewhere',
        'its content does not have the checksum of its name',
        '3 recorded runs are lost: replays name the time as a gap',
      ]);
    });
  });

  it('a history whose folder is no folder cannot be read, and a file in the place of a day is named', async () => {
    await record();
    writeFileSync(join(folder, '2026-05-01'), 'x');
    expect(verifyHistory(folder, ABOUT.address).problems).toEqual([
      { file: '2026-05-01', text: 'it has no name of a segment: move it elsewhere' },
    ]);
    const file = `${folder}.file`;
    writeFileSync(file, 'x');
    expect(() => verifyHistory(file, undefined)).toThrow(/ENOTDIR\): it is no folder, move it elsewhere/);
  });

  describe('a copy', () => {
    it('has every whole segment, and names the others', async () => {
      await record();
      const [first] = listHistory(folder).segments;
      writeFileSync(first?.file as string, 'x');
      const { files, left } = copyHistory(folder, `${folder}.copy`);
      expect(left).toEqual([first?.file]);
      expect(files).toBe(listHistory(folder).segments.length - 1);
      for (const { file } of listHistory(`${folder}.copy`).segments) {
        expect(readFileSync(file)).toEqual(readFileSync(file.replace('.copy', '')));
      }
    });
  });

  it.skipIf(process.getuid?.() === 0)(
    'a folder that is read-only is one clear line, and nothing is half written',
    () => {
      const writer = new HistoryWriter(folder, ABOUT);
      writer.writeRun(runRows(1, START));
      chmodSync(join(folder, '2026-06-01'), 0o500);
      expect(() => writer.writeRun(runRows(2, START + HOUR))).toThrow(/cannot be written \(EACCES\)/);
      chmodSync(join(folder, '2026-06-01'), 0o700);
      writer.writeRun(runRows(2, START + HOUR));
      expect(verifyHistory(folder, ABOUT.address)).toMatchObject({ ok: true, runs: 2 });
    },
  );

  const duckdb = await import('@duckdb/node-api').catch(() => undefined);
  describe.skipIf(duckdb === undefined)('another tool (DuckDB; skipped where its binary is missing)', () => {
    it('counts what we count, in one line of SQL', async () => {
      await record();
      const connection = await (await duckdb!.DuckDBInstance.create(':memory:')).connect();
      const query = async (what: string, rest = '') =>
        (await connection.runAndReadAll(`SELECT ${what} FROM '${folder}/*/*.parquet' WHERE run > 0 ${rest}`)).getRows();
      const changes = rows().filter(({ run }) => run > 0);
      const count = (key: (row: (typeof changes)[number]) => string) => {
        const counts = new Map<string, number>();
        for (const row of changes) counts.set(key(row), (counts.get(key(row)) ?? 0) + 1);
        return [...counts].sort();
      };
      const numbers = (found: unknown[][]) => found.map(([key, value]) => [key, Number(value)]).sort();
      expect(numbers(await query('kind, count(*)', 'GROUP BY kind'))).toEqual(count(({ kind }) => kind));
      expect(numbers(await query('path, count(*)', 'GROUP BY path'))).toEqual(count(({ path }) => path));
      expect(Number((await query('count(DISTINCT subject)'))[0]?.[0])).toBe(
        new Set(changes.map(({ subject }) => subject)).size,
      );
      expect((await query('epoch_ms(min("at")), epoch_ms(max("at"))'))[0]?.map(Number)).toEqual([
        Math.min(...changes.map(({ at }) => at)),
        Math.max(...changes.map(({ at }) => at)),
      ]);
      expect((await query("value::JSON->>'$[1]'", "AND path = 'Emails' LIMIT 1"))[0]).toEqual(['joann@x.org']);
    });
  });
});

describe('what people do to the folder of a history', () => {
  let folder: string;
  let writer: HistoryWriter;
  beforeEach(() => {
    folder = join(mkdtempSync(join(tmpdir(), 'history-')), 'db.history');
    writer = new HistoryWriter(folder, ABOUT);
    for (const run of [1, 2]) writer.writeRun(runRows(run, START + run * HOUR));
  });
  afterEach(() => rmSync(dirname(folder), { recursive: true }));

  async function read(): Promise<string[]> {
    const items: string[] = [];
    const reader = historyReader({ folder, address: ABOUT.address, newDecoder: plainDecoder });
    for await (const item of reader.items({ fromMs: 0, toMs: START + DAY })) {
      if (item.kind === 'gap') items.push(`${item.gap.cause}: ${item.gap.text}`);
      else items.push(item.kind === 'run' ? `run ${item.run.frame.run.seq}` : item.kind);
    }
    return items;
  }

  it.each([
    ['the whole folder', () => folder],
    ['a day', () => join(folder, '2026-06-01')],
    ['a file', () => listHistory(folder).segments[0]?.file as string],
  ])('a link in the place of %s is read and written through', async (_, place) => {
    const moved = join(dirname(folder), 'elsewhere');
    const link = place();
    renameSync(link, moved);
    symlinkSync(moved, link);
    writer.writeRun(runRows(3, START + 3 * HOUR));
    expect(await read()).toEqual(['state', 'run 1', 'run 2', 'run 3']);
    expect(verifyHistory(folder, ABOUT.address)).toMatchObject({ ok: true, runs: 3 });
  });

  it('a link that leads nowhere is a gap', async () => {
    const { file } = listHistory(folder).segments[0] as { file: string };
    rmSync(file);
    symlinkSync(join(folder, 'nowhere'), file);
    expect(await read()).toEqual([expect.stringMatching(/^damaged: .*no longer there.*no base after it is kept/)]);
    expect(verifyHistory(folder, ABOUT.address).ok).toBe(false);
  });

  it('a folder that is deleted while its recorder runs is made again, and what was lost is a gap', async () => {
    rmSync(folder, { recursive: true });
    writer.writeRun(runRows(3, START + 3 * HOUR));
    expect(await read()).toEqual([expect.stringMatching(/^damaged: what held before it is not kept/)]);
    expect(verifyHistory(folder, ABOUT.address)).toMatchObject({ ok: false, runs: 1 });
  });
});

describe('a segment whose checksum holds and whose content is not as segments are written', () => {
  let folder: string;
  beforeEach(() => {
    folder = join(mkdtempSync(join(tmpdir(), 'history-')), 'db.history');
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
  });
  afterEach(() => rmSync(dirname(folder), { recursive: true }));

  const device = (path: string, value?: string): Said => ['device', 'd1', path, value];
  const ofRun = (place: number) =>
    listHistory(folder).segments.find(({ first, level }) => first === place && level === 'run') as SegmentFile;
  const bases = () => listHistory(folder).segments.filter(({ level }) => level === 'base');

  interface Form {
    schema?: SchemaElement[];
    version?: string;
    forgotten?: string;
    codec?: 'GZIP' | 'SNAPPY' | 'UNCOMPRESSED';
    encoding?: 'PLAIN' | 'RLE_DICTIONARY';
  }

  /** The same rows, written as something else would write them. */
  function writtenAgain(segment: SegmentFile, form: Form): Uint8Array {
    const { schema = SCHEMA, version = '1', forgotten = '[]', codec = 'GZIP', encoding = 'RLE_DICTIONARY' } = form;
    const rows = [...rowsOf(readSegment(segment))];
    const writer = new ByteWriter();
    const parquet = new ParquetWriter({
      writer,
      schema,
      codec,
      compressors: { GZIP: GZIP.compress },
      kvMetadata: Object.entries({ schema: version, address: ABOUT.address, forgotten }).map(([key, value]) => ({
        key: `trustward.${key}`,
        value,
      })),
    });
    const columnData = schema.slice(1).map(({ name, type }) => ({
      name,
      encoding,
      data: rows.map((row) => {
        const value = row[name as (typeof COLUMNS)[number]] ?? null;
        return type === 'INT64' ? BigInt(value as number) : value;
      }),
    }));
    parquet.write({ rowGroupSize: rows.length, columnData });
    parquet.finish();
    return writer.getBytes();
  }

  /** One bit of what is packed, so that the file has its form still. */
  function packedWrong(segment: SegmentFile): Uint8Array {
    const bytes = readFileSync(segment.file);
    const magic = bytes.indexOf(Buffer.from([0x1f, 0x8b]));
    bytes[magic + 12] = (bytes[magic + 12] as number) ^ 0xff;
    return bytes;
  }

  /** With the checksum that its name has. */
  function replace(segment: SegmentFile, bytes: Uint8Array): void {
    writeFileSync(segment.file, bytes);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    renameSync(segment.file, join(dirname(segment.file), fileNameOf({ ...segment, sha256 })));
  }

  async function read(): Promise<{ order: string[]; gaps: HistoryGap[] }> {
    const [order, gaps]: [string[], HistoryGap[]] = [[], []];
    const { items } = historyReader({ folder, address: ABOUT.address, newDecoder: plainDecoder });
    for await (const item of items({ fromMs: 0, toMs: START + 9 * DAY })) {
      order.push(item.kind === 'gap' ? item.gap.cause : item.kind === 'run' ? `${item.run.frame.run.seq}` : item.kind);
      if (item.kind === 'gap') gaps.push(item.gap);
      if (item.kind === 'state') for await (const _ of item.facts);
    }
    return { order, gaps };
  }

  const without = (name: string) => SCHEMA.filter((one) => one.name !== name).map(counted);
  const counted = (one: SchemaElement, index: number): SchemaElement =>
    index === 0 ? { ...one, num_children: COLUMNS.length - 1 } : one;
  const optional = SCHEMA.map((one, index) => (index === 0 ? one : { ...one, repetition_type: 'OPTIONAL' as const }));

  const FORMS: [string, (segment: SegmentFile) => Uint8Array, HistoryGap['cause'], RegExp][] = [
    ['is packed otherwise', (one) => writtenAgain(one, { codec: 'SNAPPY' }), 'damaged', /SNAPPY where GZIP is written/],
    [
      'is not packed',
      (one) => writtenAgain(one, { codec: 'UNCOMPRESSED' }),
      'damaged',
      /column run is of another form/,
    ],
    ['has no dictionaries', (one) => writtenAgain(one, { encoding: 'PLAIN' }), 'damaged', /DICTIONARY_PAGE is written/],
    [
      'may lack values',
      (one) => writtenAgain(one, { schema: optional }),
      'damaged',
      /OPTIONAL where REQUIRED is written/,
    ],
    [
      'lacks a column',
      (one) => writtenAgain(one, { schema: without('path') }),
      'damaged',
      /value where path is written/,
    ],
    ['has notes of another form', (one) => writtenAgain(one, { forgotten: '{' }), 'damaged', /was removed from it/],
    [
      'is of a later version',
      (one) => writtenAgain(one, { version: '2' }),
      'version',
      /it has schema 2, and this version/,
    ],
    ['is packed wrong', packedWrong, 'damaged', /it cannot be decoded/],
  ];

  it.each(FORMS)('a segment that %s is a gap that names it, for every reader', async (_, form, cause, text) => {
    replace(ofRun(2), form(ofRun(2)));
    const { order, gaps } = await read();
    expect(order).toEqual(['state', '1', cause, 'state', '3', '4', '5', '6']);
    expect(gaps[0]?.text).toMatch(text);
    expect(gaps[0]?.text).toContain('2026-06-01/');
    const { problems } = verifyHistory(folder, ABOUT.address);
    expect(problems).toMatchObject([
      { file: expect.stringContaining('2026-06-01/') },
      { text: expect.stringMatching(/lost/) },
    ]);
    expect(problems[0]?.text).toMatch(text);
    const forgotten = forgetSubject(folder, { subject: { kind: 'device', id: 'd1' }, atMs: START, standIn: 'x' });
    expect(forgotten.unreadable).toEqual([ofRun(2).file]);
    await expect(reader().ruleSet('h1')).resolves.toBeUndefined();
  });

  const UNREADABLE = FORMS.filter(([, form]) => form !== packedWrong);

  it.each(UNREADABLE)(
    'a base that %s is left out, and the runs before it serve, for readers and a recorder',
    async (_, form) => {
      for (const base of bases()) replace(base, form(base));
      expect((await read()).order).toEqual(['state', '1', '2', '3', '4', '5', '6']);
      expect(await lastRows(folder, ABOUT.address)).toMatchObject([{ subject: 'd1', value: '2.2' }]);
    },
  );

  it('a recorder whose base is packed wrong begins anew, with a base of its own', async () => {
    for (const base of bases()) replace(base, packedWrong(base));
    await new FolderRecording({ folder, ...ABOUT, keepMs: 30 * DAY, printKey: PRINT_KEY }).presentPrints(
      'device',
      'paged',
    );
    expect(bases()).toHaveLength(3);
    expect(await lastRows(folder, ABOUT.address)).toEqual([]);
  });

  it.each(FORMS)('a segment that %s stays where it is when those around it are merged', async (_, form, cause) => {
    replace(ofRun(4), form(ofRun(4)));
    const { file } = ofRun(4);
    await tidyHistory(folder, { ...ABOUT, nowMs: START + 3 * DAY, keepMs: 30 * DAY });
    expect(listHistory(folder).segments.map((one) => one.file)).toContain(file);
    expect((await read()).order).toEqual(['state', '1', '2', '3', cause, 'state', '5', '6']);
  });

  function reader() {
    return historyReader({ folder, address: ABOUT.address, newDecoder: plainDecoder });
  }
});
