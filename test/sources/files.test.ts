// sources: a file is read whole or not at all: what is cut, malformed, changing or shrunk leaves the last good table, which counts until it is stale.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { doubtOf, type GivenReading } from '../../src/domain/given-facts.ts';
import { NOW, sourcesIn, world } from '../support/given-sources.ts';

const [CSV] = sourcesIn(`sources:
  inventory:
    key: { serial_number: serial }
    fresh: 1d
    every: 1m
    fields:
      owner: text
      battery: number
      encrypted: { type: boolean, from: disk }
      seen: { type: time, unit: iso }
      tags: { type: texts, separator: ";" }
    file: { path: fleet.csv }
`);
const csv = CSV as NonNullable<typeof CSV>;
const HEAD = 'serial,owner,battery,disk,seen,tags\n';
const ROW = 'C02A,Ada,97,true,2026-11-28T10:00:00Z,a; b\n';
const rowsOf = ({ table }: GivenReading) => Object.fromEntries(table?.rows ?? []);
const ADA = { owner: 'Ada', battery: 97, encrypted: true, seen: Date.parse('2026-11-28T10:00:00Z'), tags: ['a', 'b'] };

describe('CSV', () => {
  it.each([
    ['as it is', HEAD + ROW],
    ['with a BOM and CRLF', `\ufeff${HEAD}${ROW}`.replaceAll('\n', '\r\n')],
    ['with quotes and an empty line', `${HEAD}"C02A","Ada","97",true,2026-11-28T10:00:00Z,"a; b"\n\n`],
    [
      'with columns in another order and more of them',
      `x,tags,seen,disk,battery,owner,serial\n,a;b,2026-11-28T11:00:00+0100,TRUE,97,Ada, c02a \n`,
    ],
  ])('%s is one row, its key folded', async (_, text) => {
    const place = world();
    place.put('fleet.csv', text);
    const reading = await place.read(csv);
    expect(reading.fault).toBeUndefined();
    expect(rowsOf(reading)).toEqual({ c02a: ADA });
    expect(reading.table).toMatchObject({
      atMs: NOW - 60_000,
      readAt: NOW,
      found: { rows: 1, keyless: 0, wrong: {} },
      problems: [],
    });
  });

  it('quotes hold commas, line breaks and doubled quotes', async () => {
    const place = world();
    place.put('fleet.csv', `${HEAD}C1,"Ada ""A"", of\r\nLondon",,,,\n`);
    expect(rowsOf(await place.read(csv))).toEqual({ c1: { owner: 'Ada "A", of\r\nLondon' } });
  });

  it('values of another type are none, counted and named by their rows; a key that two rows have counts for neither', async () => {
    const place = world();
    const bad = 'C3,Bob,n/a,yes,2026-11-28 10:00:00,\nC4,,,,1764324000,\n,Eve,1,,,\n';
    place.put(
      'fleet.csv',
      `${HEAD}C1,A,1,,,\nC2,B,2,,,\nc1 ,A,1,,,\n${bad}C1,A,1,,,\nC5,,0x10,,2026-02-30T10:00:00Z,\n`,
    );
    const { table } = await place.read(csv);
    expect([...(table?.rows.keys() ?? [])].sort()).toEqual(['c2', 'c3', 'c4', 'c5']);
    expect(table?.rows.get('c3')).toEqual({ owner: 'Bob', battery: {}, encrypted: {}, seen: {} });
    expect([...(table?.repeated ?? [])]).toEqual(['c1']);
    expect(table?.found).toEqual({ rows: 8, keyless: 1, wrong: { battery: 2, encrypted: 1, seen: 3 } });
    expect(table?.problems).toEqual([
      'row 4: the key `"c1 "` is there already: none of its rows counts',
      'row 5: `battery`: expected a number, found `"n/a"`',
      'row 5: `disk`: expected a boolean, found `"yes"`',
      'row 5: `seen`: expected a time with its zone, such as 2026-11-28T22:00:00Z, found `"2026-11-28 10:00:00"`',
      'row 6: `seen`: expected a time with its zone, such as 2026-11-28T22:00:00Z, found `"1764324000"`',
      'row 7: `serial` is missing',
      'row 8: the key `"C1"` is there already: none of its rows counts',
      'row 9: `battery`: expected a number, found `"0x10"`',
      'row 9: `seen`: expected a time with its zone, such as 2026-11-28T22:00:00Z, found `"2026-02-30T10:00:00Z"`',
    ]);
  });

  const many = HEAD + Array.from({ length: 40 }, (_, at) => `C${at},A,1,true,2026-11-28T10:00:00Z,a;b\n`).join('');
  it.each([
    ['cut within a row', many.slice(0, many.length / 2), /does not end with a line break, so it may be cut/],
    ['cut within its last cell', many.slice(0, -2), /does not end with a line break, so it may be cut/],
    [
      'cut at the end of a row',
      `${many.split('\n').slice(0, 15).join('\n')}\n`,
      /^it has 14 rows, and had 40: it may be cut, and counts when the earlier data is older than 24 h$/,
    ],
    [
      'with a row that was cut',
      many.replace('C7,A,1', 'C7,A'),
      /^row 9: it has 5 cells, and the header 6: it may be cut$/,
    ],
    ['cut within quotes', `${many}"C9`, /a quotation mark is not closed: it may be cut/],
    ['emptied', '', /^it is empty$/],
    ['of a header alone', HEAD, /^it has no row$/],
    ['without its key', many.replace('serial', 'serail'), /^there is no column `serial`; did you mean `serail`\?$/],
    ['with a column twice', many.replace('tags', 'serial'), /^there are 2 columns `serial`$/],
    ['of another encoding', Buffer.from(`${HEAD}C1,J\u00f6rg,1,true,,\n`, 'latin1'), /^it is not UTF-8 throughout/],
    ['of UTF-16', Buffer.from(`\ufeff${many}`, 'utf16le'), /^it is not UTF-8 throughout/],
    ['with quotes inside a cell', `${HEAD}C1,the "A",1,true,,\n`, /^row 2: a quotation mark stands in a cell/],
  ])('%s is named, and the last good table goes on until it is stale', async (_, text, fault) => {
    const place = world();
    place.put('fleet.csv', many);
    expect((await place.read(csv)).fault).toBeUndefined();
    place.nowMs += 60_000;
    place.put('fleet.csv', text, 5_000);
    const reading = await place.read(csv);
    expect(reading.fault?.text).toMatch(fault);
    expect(reading.table?.rows.size).toBe(40);
    expect(doubtOf(reading, place.nowMs)).toBeUndefined();
    expect(doubtOf(reading, NOW - 60_000 + 86_400_001)).toMatch(/^its data is 24 h old/);
  });

  it('a list that stays shrunk counts when the earlier data is stale', async () => {
    const place = world();
    place.put('fleet.csv', many);
    await place.read(csv);
    place.nowMs += 86_400_000;
    place.put('fleet.csv', HEAD + ROW);
    expect(await place.read(csv)).toMatchObject({ fault: undefined, table: { found: { rows: 1 } } });
  });

  it('of 1 GB is refused without being read', async () => {
    const place = world();
    place.put('fleet.csv', HEAD + ROW);
    truncateSync(join(place.folder, 'fleet.csv'), 1e9);
    place.nowMs = Date.now() + 60_000;
    const before = process.memoryUsage().rss;
    expect((await place.read(csv)).fault?.text).toBe('it is larger than 512 MB');
    expect(process.memoryUsage().rss - before).toBeLessThan(50e6);
  });

  it('being written is looked at again soon, and no failure', async () => {
    const place = world();
    place.put('fleet.csv', HEAD, 500);
    expect(await place.read(csv)).toMatchObject({ table: undefined, triedAt: undefined, fault: undefined });
    place.nowMs += 600;
    place.put('fleet.csv', HEAD + ROW, 1_000);
    expect(rowsOf(await place.read(csv))).toEqual({ c02a: ADA });
  });

  it('being written is waited for by a run that does not come again', async () => {
    const place = world();
    place.put('fleet.csv', HEAD + ROW, 500);
    place.onSleep = () => {
      place.nowMs += 600;
    };
    await place.reader.readSettled([csv], new AbortController().signal);
    expect(rowsOf(await place.read(csv))).toEqual({ c02a: ADA });
    expect(place.nowMs).toBe(NOW + 600);
  });

  it('that comes, changes or is mended is read at once, one that stays wrong only when it is due', async () => {
    const place = world();
    expect((await place.read(csv)).fault?.text).toContain('ENOENT');
    place.nowMs += 1_000;
    place.put('fleet.csv', HEAD + ROW);
    expect(rowsOf(await place.read(csv))).toEqual({ c02a: ADA });
    place.nowMs += 1_000;
    place.put('fleet.csv', `${HEAD}C02A,"Ada`);
    const { fault, table } = await place.read(csv);
    expect([fault?.sinceMs, table?.found.rows]).toEqual([place.nowMs, 1]);
    const triedAt = place.nowMs;
    place.nowMs += 1_000;
    expect((await place.read(csv)).triedAt).toBe(triedAt);
    place.put('fleet.csv', HEAD + ROW.replace('Ada', 'Bob'));
    expect(rowsOf(await place.read(csv))).toEqual({ c02a: { ...ADA, owner: 'Bob' } });
  });

  it('too many rows are refused', async () => {
    const place = world();
    place.put('fleet.csv', many);
    expect((await place.read({ ...csv, rowsMax: 39 })).fault?.text).toBe('it has more than 39 rows');
  });
});

describe('a path', () => {
  it.each([
    ['a pipe', (path: string) => spawnSync('mkfifo', [path]), /`fleet.csv` is not a regular file/],
    ['a folder', (path: string) => mkdirSync(path), /`fleet.csv` is not a regular file/],
    [
      'a link out of the folder',
      (path: string) => symlinkSync('/etc/hostname', path),
      /leads out of the folder of sources/,
    ],
    ['nothing', () => {}, /`fleet.csv` cannot be read \(ENOENT\)/],
  ])('that leads to %s is refused', async (_, make, fault) => {
    const place = world();
    make(join(place.folder, 'fleet.csv'));
    expect((await place.read(csv)).fault?.text).toMatch(fault);
  });

  it('may be a link that is swapped inside of the folder', async () => {
    const place = world();
    place.put('one.csv', HEAD + ROW);
    symlinkSync('one.csv', join(place.folder, 'fleet.csv'));
    expect(rowsOf(await place.read(csv))).toEqual({ c02a: ADA });
  });

  it('is nowhere without the folder', async () => {
    const place = world({ folder: undefined });
    expect((await place.read(csv)).fault?.text).toMatch(/^TRUSTWARD_SOURCES is not set/);
  });
});

describe('JSON', () => {
  const [list] = sourcesIn(`sources:
  edr:
    key: { device_id: id }
    fresh: 1d
    every: 1m
    fields:
      score: { type: number, from: assessment.overall }
      version: version
      first: { type: time, unit: ns }
      flags: { type: texts, from: flag_list }
    file: { path: edr.json, list: data.rows }
`);
  const json = list as NonNullable<typeof list>;
  const lines = { ...json, origin: { by: 'file', path: 'edr.ndjson', format: 'ndjson', list: undefined } as const };
  const row =
    '{"id":"D1","assessment":{"overall":9007199254740993},"version":"1.10","first":1764324000123456789,"flag_list":["a"]}';
  const facts = { d1: { score: 9007199254740993n, version: '1.10', first: 1764324000123, flags: ['a'] } };

  it('keeps long integers exact, reads members of members, and takes no prototype for a member', async () => {
    const place = world();
    place.put(
      'edr.json',
      `\ufeff{"data":{"rows":[${row},{"id":"D2","version":1.1,"flag_list":[1]},{"id":3,"first":1764324000}]}}`,
    );
    const { table } = await place.read(json);
    expect(Object.fromEntries(table?.rows ?? [])).toEqual({
      ...facts,
      d2: { version: {}, flags: {} },
      3: { first: {} },
    });
    expect(table?.found.wrong).toEqual({ version: 1, flags: 1, first: 1 });
    const other = { ...json, fields: [{ name: 'score', type: 'text', from: 'constructor.name' } as const] };
    place.nowMs += 60_000;
    expect((await place.read(other)).table?.rows.get('d1')).toEqual({});
  });

  it.each([
    ['cut in half', json, 'edr.json', `{"data":{"rows":[${row},`, 'it is not valid JSON, or it is cut'],
    [
      'a page',
      json,
      'edr.json',
      '<!doctype html><p>Sign in',
      'it is not valid JSON: it begins like a page (HTML or XML)',
    ],
    ['another list', json, 'edr.json', '{"data":{"items":[]}}', '`data.rows` in it is no list of rows'],
    ['a row that is none', json, 'edr.json', '{"data":{"rows":[1]}}', 'row 1 is no object'],
    [
      'NDJSON that is cut',
      lines,
      'edr.ndjson',
      `${row}\n{"id":"D2"`,
      'it does not end with a line break, so it may be cut: write the last line whole',
    ],
    ['NDJSON with a broken line', lines, 'edr.ndjson', `${row}\n{"id":\n`, 'line 2 is not valid JSON, or it is cut'],
    ['without any key', lines, 'edr.ndjson', '{"ID":"D1"}\n', 'no row has a key in `id`'],
  ])('%s is named', async (_, source, name, text, fault) => {
    const place = world();
    place.put(name, text);
    expect((await place.read(source)).fault?.text).toBe(fault);
  });

  it('NDJSON is the same rows', async () => {
    const place = world();
    place.put('edr.ndjson', `${row}\r\n\n`);
    expect(Object.fromEntries((await place.read(lines)).table?.rows ?? [])).toEqual(facts);
  });

  it('a table outlasts the process with the time it is of, and what was changed on the disk is read anew', async () => {
    const place = world();
    place.put('edr.ndjson', `${row}\n{"id":"D2"}\n{"id":"d2"}\n`);
    const { table } = await place.read(lines);
    place.nowMs += 30_000;
    const later = place.again();
    const kept = (await later.read(lines)).table;
    expect(kept).toEqual({ ...table });
    expect(kept?.readAt).toBe(NOW);
    const folder = join((later.reader as unknown as { parts: { tables: { folder: string } } }).parts.tables.folder);
    const file = readdirSync(folder).find((name) => name.endsWith('.ndjson')) as string;
    writeFileSync(join(folder, file), '["d1",{"version":"9"}]\n');
    const anew = later.again();
    expect((await anew.read(lines)).table).toBeUndefined();
    anew.nowMs += 60_000;
    expect((await anew.read(lines)).table).toEqual({ ...table, readAt: anew.nowMs });
    expect((await anew.again().read({ ...lines, key: { is: 'device_id', from: 'ID' } })).table).toBeUndefined();
  });
});

describe('alerts', () => {
  it('a source that fails twice is alerted once, and so are its stale data and the end of it', async () => {
    const place = world();
    const keys = async () => (await place.reader.alerts([csv])).map(({ code, key }) => `${code}: ${key}`);
    expect(await keys()).toEqual([]);
    place.put('fleet.csv', HEAD + ROW);
    await place.read(csv);
    place.put('fleet.csv', HEAD, 5_000);
    place.nowMs += 60_000;
    await place.read(csv);
    expect(await keys()).toEqual([]);
    place.nowMs += 60_000;
    await place.read(csv);
    expect(await keys()).toEqual(['facts_failing: source inventory fails']);
    place.nowMs = NOW + 86_400_000;
    expect(await keys()).toEqual(['facts_stale: source inventory stale']);
    place.put('fleet.csv', HEAD + ROW, 5_000);
    await place.read(csv);
    expect(await keys()).toEqual([`facts_back: source inventory back ${place.nowMs}`]);
    const [alert] = await place.reader.alerts([csv]);
    expect(alert?.text).toBe(
      'source inventory is read again since 2026-11-29 12:00:00 UTC; it was not since 2026-11-28 12:01:00 UTC',
    );
    place.nowMs += 86_400_000;
    expect(await keys()).toEqual(['facts_stale: source inventory stale']);
  });
});
