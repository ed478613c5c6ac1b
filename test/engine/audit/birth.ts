// test: a process that opens an engine's database, as any start does, and appends one entry. Arguments: `kill` and n: it is killed (kill -9)
// before its nth step on the disk; or `keep`, a folder and some n: before each of these steps it keeps a copy of its files there, which is
// what such a kill would leave, and it prints each step. It reads its configuration from the environment.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';

const [, , what, given, ...more] = process.argv as [string, string, 'kill' | 'keep', string, ...string[]];
const kept = new Set(more.map(Number));
const files = dirname(process.env.TRUSTWARD_DB as string);
let steps = 0;
/** The copying itself has no steps. */
let isKeeping = false;

function step(name: string): void {
  if (isKeeping) return;
  steps += 1;
  if (what === 'kill') {
    if (steps === Number(given)) process.kill(process.pid, 'SIGKILL');
    return;
  }
  fs.writeSync(1, `${name}\n`);
  if (!kept.has(steps)) return;
  isKeeping = true;
  fs.cpSync(files, join(given, String(steps)), { recursive: true });
  isKeeping = false;
}

/** Every call of this name is a step. */
function counted<Holder extends object>(
  holder: Holder,
  name: keyof Holder & string,
  label: (given: unknown[]) => string,
) {
  const real = holder[name] as (...given: unknown[]) => unknown;
  Object.defineProperty(holder, name, {
    configurable: true,
    writable: true,
    value(this: unknown, ...given: unknown[]) {
      step(label(given));
      return real.apply(this, given);
    },
  });
}

for (const name of ['openSync', 'fsyncSync', 'renameSync', 'truncateSync', 'mkdirSync', 'chmodSync', 'rmSync'] as const)
  counted(fs, name, ([file]) => `${name} ${typeof file === 'string' ? file.split('/').at(-1) : ''}`);
// Not `writeSync`: the steps are printed with it. A written file has its name only after a rename.
syncBuiltinESMExports();
counted(Database.prototype as Database.Database, 'exec', ([sql]) => `exec ${String(sql).slice(0, 20)}`);
const statement = new Database(':memory:').prepare('SELECT 1');
counted(Object.getPrototypeOf(statement) as typeof statement, 'run', () => 'run');

const { composeEngine } = await import('../../../src/runtime/compose/compose.ts');
const { readConfig } = await import('../../../src/runtime/config/config.ts');
const { engine, close } = await composeEngine(readConfig(process.env));
await engine.store.appendAudit([{ kind: 'notice', body: { text: 'the first words' } }]);
step('appended');
await engine.checkpointer?.seal();
step('sealed');
await close();
