// test store: a database that an earlier version wrote, kept as a file, with its console: it opens, migrates, and goes on.
// `kept/tables-11` is 21 runs of the demonstration: bans in force, undone and released, a plan that waits, an exemption, a dry run.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { afterEach, expect, test } from 'vitest';
import { planDigest } from '../../src/engine/approve/plans.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { SqlReader } from '../../src/store/reader.ts';
import { openReadOnly, SqliteWork } from '../../src/store/sqlite/database.ts';

const ROOT = new URL('../..', import.meta.url).pathname;
const KEPT = new URL('./kept/', import.meta.url).pathname;
const TSX = import.meta.resolve('tsx');

let folder: string;
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function unpack(version: string): void {
  folder = mkdtempSync(join(tmpdir(), 'trustward-'));
  mkdirSync(join(folder, 'data'));
  cpSync(join(ROOT, 'rules'), join(folder, 'rules'), { recursive: true });
  for (const name of readdirSync(join(KEPT, version))) {
    const bytes = readFileSync(join(KEPT, version, name));
    const isPacked = name.endsWith('.gz');
    writeFileSync(join(folder, 'data', name.replace(/\.gz$/, '')), isPacked ? gunzipSync(bytes) : bytes, {
      mode: 0o600,
    });
  }
}

/** In the folder of the demonstration, with its settings: nothing of Trustward is set. */
function trustward(...args: string[]): { status: number | null; out: string; err: string } {
  const { PATH = '' } = process.env;
  const line = ['--import', TSX, join(ROOT, 'src/main.ts'), ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, line, {
    cwd: folder,
    // The loader looks for settings of TypeScript where the process runs: without ours it knows no JSX of hono.
    env: { PATH, TSX_TSCONFIG_PATH: join(ROOT, 'tsconfig.json') },
    encoding: 'utf8',
  });
  return { status, out: stdout, err: stderr };
}

const openClaims = () =>
  (JSON.parse(trustward('claims', 'list', '--format', 'json').out) as { claims: { id: string; target: string }[] })
    .claims;

test('a database of tables version 11 migrates, keeps its claims and plans, and runs on', async () => {
  unpack('tables-11');
  // Its last run is days ago, whenever this test runs: the first one of this version only shows what it would do.
  const db = new Database(join(folder, 'data/demo.db'));
  db.exec('UPDATE runs SET finished_at = finished_at - 2 * 86400000');
  db.close();
  const first = trustward('run', '--mode', 'enforce', '--format', 'json');
  expect(first.status, first.err).toBe(3);
  expect(JSON.parse(first.out)).toMatchObject({
    run: { seq: 22, mode: 'dry-run', status: 'completed' },
    operator: { silentSince: expect.any(String), stoppedNow: null },
  });
  // What it decided is still in force, and nothing is made up for it.
  const { decisions } = JSON.parse(first.out) as { decisions: { unchanged: boolean; flip: object | null }[] };
  const earlier = decisions.filter(({ unchanged }) => unchanged);
  expect(earlier.length).toBeGreaterThan(0);
  expect(earlier.filter(({ flip }) => flip !== null)).toEqual([]);
  const outside = readFileSync(join(folder, 'data/demo.db.checkpoints'), 'utf8').split('\n');
  expect(JSON.parse(outside[0] ?? '')).toMatchObject({ database: expect.any(String) });
  expect(outside.join('\n')).toContain(readFileSync(join(KEPT, 'tables-11/demo.db.checkpoints'), 'utf8'));

  const run = trustward('run', '--mode', 'enforce', '--format', 'json');
  expect(run.status, run.err).toBeOneOf([0, 3]);
  const report = JSON.parse(run.out) as {
    run: { seq: number; status: string };
    decisions: { reason: string; action: string; target: string; outcome: string | null }[];
  };
  expect(report.run).toMatchObject({ seq: 23, mode: 'enforce', status: 'completed' });
  const reasons = new Set(report.decisions.map(({ reason }) => reason));
  expect(reasons).not.toContain('trouble');
  expect(reasons).not.toContain('trouble_over');

  // A plan that waited is still the one that was sealed: its digest is that of what is read now, and that of the audit.
  const reader = new SqlReader(new SqliteWork(openReadOnly(join(folder, 'data/demo.db'))), systemClock);
  const waited = await reader.plan('01m813n6wybr80t412rjzqsvv1');
  expect(waited?.intents).toMatchObject([{ action: 'disable_service', target: 'wiki.eu-west.tw' }]);
  expect(planDigest(waited?.intents ?? [])).toBe(waited?.digest);
  expect(await reader.auditedDigest('plan.sealed', waited?.id ?? '')).toBe(waited?.digest);
  await reader.close();

  // Each ban of before is in force, or was undone by this run: none was forgotten.
  const undone = report.decisions.filter(({ action }) => action === 'unban_device').map(({ target }) => target);
  const open = openClaims().map(({ target }) => target);
  expect([...open, ...undone]).toEqual(expect.arrayContaining(['LXNPC12N0', 'R5CVAGA69I', 'R5CZ30EQ2R']));

  const verified = trustward('audit', 'verify');
  expect(verified).toMatchObject({ status: 0, out: expect.stringContaining('the audit is whole') });
  const { out } = trustward('audit', 'list', '--kind', 'decision.made', '--limit', '500', '--format', 'json');
  const entries = (JSON.parse(out) as { entries: { body: { reason: string } }[] }).entries;
  expect(new Set(entries.map(({ body }) => body.reason))).not.toContain('trouble');
  expect(entries.map(({ body }) => body.reason)).toContain('rule_matches');
});
