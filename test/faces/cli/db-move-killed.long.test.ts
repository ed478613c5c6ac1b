// commands: `db move`, killed (kill -9) at any step: the file is usable or the rows are in PostgreSQL, never both act, and the same command again
// completes the move.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { built } from '../../support/built.ts';
import { command } from '../../support/in-process.ts';
import { startOrganization } from '../../support/organization.ts';
import { hasNoPostgres, migratedDatabase, NEEDS_POSTGRES, sharedCluster } from '../../support/postgres.ts';

/** Spread over the whole move, and each of the last ones: there the file is marked and the rows are committed. */
const SPREAD = 10;
const LAST = 14;
const AT_ONCE = 6;

describe.skipIf(hasNoPostgres)(`db move${NEEDS_POSTGRES}`, () => {
  it('a move killed at any step leaves one that is whole, and never two', async () => {
    const cluster = await sharedCluster();
    const org = await startOrganization({ devices: 200, compromised: 3 });
    await org.run('enforce');
    await org.composition.close();
    let tries = 0;

    async function killedAt(n: number) {
      tries += 1;
      const dir = join(org.dir, `try-${tries}`);
      mkdirSync(dir);
      for (const end of ['', '.audit-key', '.audit-key.pub', '.checkpoints'])
        cpSync(`${org.dbFile}${end}`, join(dir, `trustward.db${end}`));
      const name = await migratedDatabase(cluster);
      const file = { ...org.env, TRUSTWARD_DB: join(dir, 'trustward.db'), TRUSTWARD_STATE: join(dir, 'state') };
      const there = { ...file, TRUSTWARD_DB: cluster.url(name) };
      const child = spawn(process.execPath, [built('test/faces/cli/move-killed.ts'), String(n), there.TRUSTWARD_DB], {
        env: { PATH: process.env.PATH, ...file },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let out = '';
      child.stdout.on('data', (text) => {
        out += text;
      });
      const [, signal] = await once(child, 'close');
      return { name, file, there, signal: signal as string | null, out };
    }

    const entriesIn = async (name: string) =>
      (await cluster.query('SELECT count(*)::int AS count FROM trustward.audit', name)).rows[0].count as number;
    const fileOf = (file: string) => {
      const db = new Database(file);
      const isMarked = db.prepare("SELECT 1 FROM meta WHERE key = 'moved_to'").all().length === 1;
      const entries = db.prepare('SELECT count(*) FROM audit').pluck().get() as number;
      db.close();
      return { isMarked, entries };
    };
    const stop = (env: Record<string, string>) => command(['stop', '--reason', 'a drill'], env);

    const whole = await killedAt(Number.POSITIVE_INFINITY);
    const steps = Number(whole.out);
    expect(steps).toBeGreaterThan(SPREAD + LAST);
    const spread = Array.from({ length: SPREAD }, (_, at) => 1 + Math.floor((at * (steps - LAST)) / SPREAD));
    const last = Array.from({ length: LAST }, (_, at) => steps - LAST + 1 + at);
    const states = new Set<string>();
    const tried = async (at: number) => {
      const { name, file, there, signal } = await killedAt(at);
      expect({ at, signal }).toEqual({ at, signal: 'SIGKILL' });
      const { isMarked, entries } = fileOf(file.TRUSTWARD_DB);
      const moved = await entriesIn(name);
      states.add(`${isMarked ? 'marked' : 'usable'} ${moved > 0 ? 'moved' : 'empty'}`);
      expect({ at, moved }).toEqual({ at, moved: moved === 0 ? 0 : entries });
      if (moved > 0) expect({ at, isMarked }).toEqual({ at, isMarked: true });
      expect({ at, code: (await stop(file)).code }).toEqual({ at, code: isMarked ? 2 : 0 });
      const again = await command(['db', 'move', '--to', there.TRUSTWARD_DB], file);
      expect({ at, ...again }).toMatchObject({ at, code: 0, err: '' });
      expect(await entriesIn(name)).toBe(fileOf(file.TRUSTWARD_DB).entries);
      expect({ at, ...(await command(['audit', 'verify'], there)) }).toMatchObject({ at, code: 0 });
      expect((await stop(file)).code).toBe(2);
      await cluster.dropDatabase(name);
    };
    const points = [...spread, ...last];
    // Each waits for a lease that nobody gave back.
    for (let from = 0; from < points.length; from += AT_ONCE)
      await Promise.all(points.slice(from, from + AT_ONCE).map(tried));
    process.stdout.write(`db move: killed at ${points.length} of ${steps} steps: ${[...states].join(', ')}\n`);
    expect([...states].sort()).toEqual(['marked empty', 'marked moved', 'usable empty']);
    await cluster.dropDatabase(whole.name);
    await org.close();
  }, 600_000);
});
