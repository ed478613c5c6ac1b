// test: a process that records and tidies until it is killed. In: a folder. Out: a line when it begins, and one when it has recorded a few runs.

import { listHistory } from '../../../src/history/files/segment-files.ts';
import { HistoryWriter, tidyHistory } from '../../../src/history/files/tidy.ts';
import { HOUR, MINUTE, runRows, START } from './rows.ts';

const ABOUT = { program: 'trustward 0.1.0', address: 'http://127.0.0.1:1' };
const folder = process.argv[2] as string;
const writer = new HistoryWriter(folder, ABOUT);
let run = writer.place;
process.stdout.write('begun\n');
const [first, few] = [run, 3];
for (;;) {
  if (run === first + few) process.stdout.write('recorded\n');
  run++;
  const at = START + run * 40 * MINUTE;
  const said = Array.from({ length: 50 }, (_, no) => ['device' as const, `d${no}`, 'OS', `"${run}"`] as const);
  writer.writeRun(
    runRows(
      run,
      at,
      said.map((one) => [...one]),
    ),
  );
  if (run % 5 === 0) await tidyHistory(folder, { ...ABOUT, nowMs: at, keepMs: 30 * 24 * HOUR });
  if (listHistory(folder).segments.length > 400) break;
}
