// test: a process whose runs end while they are still being recorded, under the writer's lock of a database each. In: a folder, how many databases.
// Out: a line when the last run of one is about to end; its lock is released when its recorder is closed. It ends when all its threads have.
import { join } from 'node:path';
import { ThreadDesk } from '../../../src/history/record/desk-thread.ts';
import { RunRecorder } from '../../../src/history/record/run-recorder.ts';
import { takeWriterLock } from '../../../src/store/sqlite/writer-lock.ts';
import { startOnPlatform } from '../../support/engine-on-platform.ts';
import { PRINT_KEY } from '../../support/print-key.ts';

const [folder, times] = process.argv.slice(2) as [string, string];
for (let time = 0; time < Number(times); time++) {
  const database = join(folder, `${time}.db`);
  const lock = takeWriterLock(database);
  const on = startOnPlatform();
  for (let id = 1; id <= 40; id++) on.platform.addDevice(`device-${id}`);
  const settings = { address: 'http://platform.test', program: 'test', keepMs: 30 * 86_400_000 };
  const desk = new ThreadDesk({ folder: `${database}.history`, printKey: PRINT_KEY, ...settings });
  const { engine } = on;
  const clock = { nowMs: () => on.clock.nowMs(), monotonicMs: () => 0, sleep: () => new Promise<void>(() => {}) };
  const recorder = new RunRecorder(desk, on.store, clock, engine.log);
  engine.history = recorder;
  for (const hours of [0, 1, 23]) {
    await recorder.settled();
    on.clock.pass(hours * 3_600_000 + 60_000);
    for (let id = 1; id <= 40; id++) on.platform.patch(`device-${id}`, { Name: `${id} of ${hours}` });
    await on.run();
  }
  process.stdout.write(`${database}\n`);
  await recorder.close();
  lock.release();
}
