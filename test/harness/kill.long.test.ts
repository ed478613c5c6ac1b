// harness: the real daemon, killed (kill -9) hundreds of times at random moments, over HTTP, against a console with latency,
// resets and late effects. KILLS and KILL_SEED choose another number or another seed.
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkKilled, type KillFigures, killLine } from './kill-checks.ts';
import { type KilledLife, liveAndDie } from './kill-life.ts';

const KILLS = Number(process.env.KILLS ?? 300);
const SEED = Number(process.env.KILL_SEED ?? 1);
const ORGANIZATIONS = 3;
const LIMIT_MS = 1_800_000;
const ROOT = new URL('../../', import.meta.url).pathname;
/** Beside the packages that it needs; a build of its own, from the current sources. */
const PLACE = join(ROOT, 'node_modules/.cache/trustward-kill');
const BUILT = join(PLACE, 'dist');

beforeAll(() => {
  rmSync(PLACE, { recursive: true, force: true });
  mkdirSync(BUILT, { recursive: true });
  copyFileSync(join(ROOT, 'package.json'), join(PLACE, 'package.json'));
  const options = [
    '-p',
    'tsconfig.build.json',
    '--outDir',
    BUILT,
    '--incremental',
    'false',
    '--tsBuildInfoFile',
    'null',
  ];
  execFileSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), ...options], { cwd: ROOT });
  for (const part of ['store', 'console'])
    cpSync(join(ROOT, 'src', part, 'migrations'), join(BUILT, part, 'migrations'), { recursive: true });
}, 120_000);
afterAll(() => rmSync(PLACE, { recursive: true, force: true }));

describe('a daemon that is killed again and again', () => {
  it(
    'loses nothing, doubles nothing and calls nothing without a record before it',
    async () => {
      const started = performance.now();
      const each = Math.ceil(KILLS / ORGANIZATIONS);
      const parts = Array.from({ length: ORGANIZATIONS }, (_, index) => killAndCheck(SEED + index, each));
      const all = await Promise.all(parts);
      process.stdout.write(`${killLine(all, (performance.now() - started) / 1_000)}\n`);
      expect(all.flatMap(({ faults }) => faults)).toEqual([]);
      expect(all.reduce((sum, { kills }) => sum + kills, 0)).toBeGreaterThanOrEqual(KILLS);
    },
    LIMIT_MS,
  );
});

async function killAndCheck(seed: number, kills: number): Promise<KillFigures> {
  let life: KilledLife | undefined;
  try {
    life = await liveAndDie(seed, kills, [join(BUILT, 'main.js')]);
    return await checkKilled(life);
  } finally {
    await life?.org.console.close();
  }
}
