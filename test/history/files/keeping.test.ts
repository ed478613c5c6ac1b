// test: verifying, forgetting and copying a history; another tool reads it. In: segments. Out: checks, rows, files.
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ExemptionMembers, membersOf } from '../../../src/domain/exemption.ts';
import { rowsOf } from '../../../src/history/files/begin.ts';
import { forgetSubject, verifyHistory } from '../../../src/history/files/forget.ts';
import { historyReader } from '../../../src/history/files/read-items.ts';
import { copyHistory, listHistory, readSegment } from '../../../src/history/files/segment-files.ts';
import { HistoryWriter, tidyHistory } from '../../../src/history/files/tidy.ts';
import { plainDecoder } from './plain-decoder.ts';
import { DAY, HOUR, runRows, type Said, START } from './rows.ts';

const ABOUT = { program: 'trustward 0.1.0', address: 'http://127.0.0.1:1' };
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
      left.filter(({ kind }) => kind !== 'rules').some((row) => /(?<!jo)ann@x\.org(?!\.uk)/i.test(JSON.stringify(row))),
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

it.skipIf(process.getuid?.() === 0)('a folder that is read-only is one clear line, and nothing is half written', () => {
  const writer = new HistoryWriter(folder, ABOUT);
  writer.writeRun(runRows(1, START));
  chmodSync(join(folder, '2026-06-01'), 0o500);
  expect(() => writer.writeRun(runRows(2, START + HOUR))).toThrow(/cannot be written \(EACCES\)/);
  chmodSync(join(folder, '2026-06-01'), 0o700);
  writer.writeRun(runRows(2, START + HOUR));
  expect(verifyHistory(folder, ABOUT.address)).toMatchObject({ ok: true, runs: 2 });
});

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
