// report, CSV: a spreadsheet shows every decision in one row, and calculates nothing.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { buildReport } from '../../../src/faces/report/build-report.ts';
import { reportCsvPieces } from '../../../src/faces/report/csv.ts';
import { addRun, decision, openStore, type RunFill } from '../../support/filled-store.ts';
import { hostileText } from './hostile.ts';

async function csvOf(fill: RunFill): Promise<string> {
  const store = openStore();
  return [...reportCsvPieces(await buildReport(store, await addRun(store, fill)))].join('');
}

/** RFC 4180, read strictly: a quote only stands around a cell, doubled inside. */
function parsed(csv: string): string[][] {
  const rows: string[][] = [];
  const pattern = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy;
  const row: string[] = [];
  let end = 0;
  for (const [whole, quoted, plain, after] of csv.matchAll(pattern)) {
    row.push(quoted?.replaceAll('""', '"') ?? (plain as string));
    if (after === '\r\n') rows.push(row.splice(0));
    end += whole.length;
  }
  expect(end).toBe(csv.length);
  expect(row).toEqual([]);
  return rows;
}

function columnOf(csv: string, name: string): string[] {
  const [head = [], ...rows] = parsed(csv);
  return rows.map((row) => row[head.indexOf(name)] as string);
}

it('one row is one decision, under stable names of columns', async () => {
  const csv = await csvOf({ decisions: [decision(), decision({ id: 'b', target: 'S,"2"' })] });
  expect(parsed(csv)[0]).toEqual(
    [
      'decision_id,rule,subject_kind,subject_id,subject_name,serial_number,owners,verdict,since,decision,reason',
      'reason_text,action,target,effect,devices,mode,capped_by,outcome,outcome_text,facts,written_by_run,written_at',
      'change,in_plan',
    ]
      .join(',')
      .split(','),
  );
  expect(columnOf(csv, 'target').sort()).toEqual(['S,"2"', 'SERIAL-1']);
  expect(columnOf(csv, 'facts')[0]).toBe('{"MdmData.CompromisedStatus":"TRUE"}');
  expect(columnOf(csv, 'change')).toEqual(['new', 'new']);
});

it('a run without decisions has the names of the columns alone', async () => {
  expect(parsed(await csvOf({}))).toHaveLength(1);
});

it.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '  =1', '\u00a0=1', '＝1', '\u200d=1', '\ufeff@x', '"=1'])(
  'a name such as %j is text in a spreadsheet',
  async (subjectName) => {
    const [cell = ''] = columnOf(await csvOf({ decisions: [decision({ subjectName })] }), 'subject_name');
    expect(cell).toMatch(/^['"⟨]/);
    expect(cell).not.toMatch(/^\s*[=+\-@]/);
  },
);

it('no name makes a formula, a column, a row or a hidden character', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(hostileText, hostileText, async (subjectName, target) => {
      const csv = await csvOf({ decisions: [decision({ subjectName, target, reasonText: target })] });
      const rows = parsed(csv);
      expect(rows.map((row) => row.length)).toEqual([25, 25]);
      for (const cell of rows[1] as string[]) expect(cell).not.toMatch(/^[\s\u200c\u200d]*[=+\-@\t\r]/);
      expect(csv.replaceAll('\r\n', '')).not.toMatch(/[\p{Cc}\u200b\u202a-\u202e\u2066-\u2069\u2028\u2029]/u);
    }),
    { numRuns: 60 },
  );
});

it.each(['a;=1+1', 'a; +1', 'a;"=1"', 'a;;@SUM(1)', 'a;\uff1d1', ';-1', 'Ana; =1+1'])(
  'a program that separates at semicolons finds no formula in `%s`',
  async (subjectName) => {
    const csv = await csvOf({ decisions: [decision({ subjectName })] });
    for (const cell of csv.split(/[;\r\n]/)) expect(cell).not.toMatch(/^[\s"]*[=+\-@\uff1d]/);
  },
);
