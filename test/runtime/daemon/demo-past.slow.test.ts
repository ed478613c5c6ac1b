// The past of the demo: what is in it, and what a start that is stopped or killed leaves.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AuditReader, RecordReader } from '../../../src/domain/store-ports.ts';
import { runCycle } from '../../../src/engine/cycle.ts';
import { historyFolderOf, listHistory } from '../../../src/history/files/segment-files.ts';
import { composeEngine } from '../../../src/runtime/compose/compose.ts';
import { giveDemoAPast } from '../../../src/runtime/compose/demo-past.ts';
import { composeVerification } from '../../../src/runtime/compose/opened.ts';
import { composeReader } from '../../../src/runtime/compose/reader.ts';
import { withReader } from '../../../src/runtime/compose/run-reader.ts';
import { readConfig } from '../../../src/runtime/config/config.ts';
import { Ending } from '../../../src/runtime/system/process.ts';
import { ROOT } from '../../support/built.ts';

const dir = mkdtempSync(join(tmpdir(), 'trustward-past-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function demo(name: string, more: Record<string, string> = {}) {
  const folder = join(dir, name);
  mkdirSync(folder);
  const file = join(folder, 'demo.db');
  const env = { TRUSTWARD_DB: file, TRUSTWARD_RULES: join(ROOT, 'rules'), TRUSTWARD_LOG_LEVEL: 'silent', ...more };
  return { folder, file, config: readConfig(env) };
}

describe('the past of a demo', () => {
  const { folder, file, config } = demo('made');
  const read = <T>(work: (reader: RecordReader & AuditReader) => Promise<T>) =>
    withReader(composeReader(config.database), work);
  const isWhole = async () => (await composeVerification(config.database, {})).ok;
  const days = () => new Set(listHistory(historyFolderOf(file)).segments.map(({ day }) => day)).size;
  let begun = 0;
  const give = () =>
    giveDemoAPast(config, undefined, () => {
      begun += 1;
    });
  beforeAll(give, 300_000);

  it('has an incident: more bans at once than a rule may do alone, which people answered, and one that waits for whoever starts the demo', async () => {
    const plans = await read((reader) => reader.plans({}, 100));
    expect(Math.max(...plans.map(({ intents }) => intents.length))).toBeGreaterThan(8);
    expect(plans.map(({ status }) => status)).toEqual(expect.arrayContaining(['applied', 'rejected', 'pending']));
    expect(plans.filter(({ status }) => status === 'pending')).toHaveLength(1);
    expect(new Set(plans.flatMap(({ decidedBy }) => decidedBy ?? [])).size).toBeGreaterThan(1);
  });

  it('has a day on which the list of devices was not trusted, and everything was stopped and resumed', async () => {
    const lines = await read((reader) => reader.runLines({ limit: 200 }));
    const runs = await read((reader) => Promise.all(lines.map(({ id }) => reader.run(id))));
    const untrusted = runs.filter((run) => run?.findings?.snapshot.sources.devices?.trusted === false);
    expect(untrusted.length).toBeGreaterThan(1);
    expect(untrusted.length).toBeLessThan(runs.length / 4);
    expect(await read((reader) => reader.audit({ limit: 10, kind: 'stop.set' }))).toHaveLength(1);
    expect(await read((reader) => reader.stop())).toBeUndefined();
  });

  it('is what the next start goes on from: live at once, and with all its days', { timeout: 60_000 }, async () => {
    expect(await isWhole()).toBe(true);
    expect(days()).toBeGreaterThanOrEqual(29);
    const [last] = await read((reader) => reader.runLines({ limit: 1 }));
    const composition = await composeEngine(config);
    const request = { mode: 'enforce', trigger: 'schedule', rules: undefined, waitForDoubts: false } as const;
    const run = await runCycle(composition.engine, request);
    await composition.close();
    expect(run).toMatchObject({ mode: 'enforce', status: 'completed', seq: (last?.seq ?? 0) + 1 });
    expect(days()).toBeGreaterThanOrEqual(29);
    expect(await isWhole()).toBe(true);
  });

  it('that was killed while it was put in place is put in place by the next start, and made once', async () => {
    mkdirSync(`${file}.past`);
    for (const name of ['demo.db', 'demo.db.history']) renameSync(join(folder, name), join(`${file}.past`, name));
    await give();
    expect(existsSync(`${file}.past`)).toBe(false);
    expect(await isWhole()).toBe(true);
    await give();
    expect(begun).toBe(1);
  });
});

describe('no past', () => {
  it.each([
    ['before', (end: () => void) => end()],
    ['while', (end: () => void) => void setImmediate(end)],
  ])('is left by a start that is asked to end %s it makes one', { timeout: 60_000 }, async (when, soon) => {
    const { file, config } = demo(`stopped-${when}`);
    const ending = new Ending();
    await giveDemoAPast(config, ending, () => soon(() => ending.begin()));
    expect([file, `${file}.past`].filter((one) => existsSync(one))).toEqual([]);
  });

  it.each([
    ['with an API address', { TRUSTWARD_API_URL: 'http://127.0.0.1:1', TRUSTWARD_API_KEY: 'key' }],
    ['without a history', { TRUSTWARD_HISTORY: '0d' }],
    ['in memory', { TRUSTWARD_DB: ':memory:' }],
  ])('is made %s', async (name, more) => {
    const { folder, config } = demo(name.replaceAll(' ', '-'), more);
    await giveDemoAPast(config, undefined, () => expect.unreachable());
    expect(readdirSync(folder)).toEqual([]);
  });
});
