// test: a process that restores a backup and is killed (kill -9) before its nth step on the disk. Arguments: n, the backup.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const killAt = Number(process.argv[2]);
let steps = Number.NEGATIVE_INFINITY; // of loading the program, none counts
for (const name of ['fsyncSync', 'renameSync', 'linkSync'] as const) {
  const real = fs[name] as (...given: unknown[]) => unknown;
  const counted = (...given: unknown[]) => {
    steps += 1;
    if (steps === killAt) process.kill(process.pid, 'SIGKILL');
    return real(...given);
  };
  Object.defineProperty(fs, name, { value: counted });
}
syncBuiltinESMExports();

const { commandOrThrow } = await import('../../support/in-process.ts');
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith('TRUSTWARD_')));
steps = 0;
await commandOrThrow(['db', 'restore', process.argv[3] as string, '--replace'], env as Record<string, string>);
