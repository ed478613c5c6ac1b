// test: a run with more changes than are held in memory gives the same as its rows, each time they are asked for, and so do the runs beside it.
import { expect, it } from 'vitest';
import { SegmentBytes } from '../../../src/history/files/segment-bytes.ts';
import { bytesOf, readColumns } from '../../../src/history/files/segment-columns.ts';
import { scanRuns } from '../../../src/history/files/tidy.ts';

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
