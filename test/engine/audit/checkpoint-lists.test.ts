// test: checkpoints that were tampered with, in the database and in the file outside.
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkpointHash } from '../../../src/domain/checkpoint.ts';
import type { SqliteDb } from '../../../src/store/sqlite/database.ts';
import { ChainFolder } from './checkpoint-chain.ts';
import { rechain } from './checkpoint-tampering.ts';

const RUN = 50;
const RUNS = 8;
let folder: ChainFolder;
let lines: string[];

beforeAll(async () => {
  folder = new ChainFolder();
  await folder.fill(RUN * RUNS, RUN);
  lines = folder.lines();
});
afterAll(() => folder.remove());

/** The result of verification after a change, which is then undone. */
async function verifyChanged(change: (db: SqliteDb) => void) {
  const { db, verify, allow } = folder.reading();
  db.exec('BEGIN');
  allow();
  change(db);
  const check = await verify();
  db.exec('ROLLBACK');
  db.close();
  return check;
}

async function verifyFile(changed: readonly string[]) {
  folder.writeLines(changed);
  const check = await folder.verify();
  folder.writeLines(lines);
  return check;
}

const edited = (line: string) => line.replace(/"at":\d+/, '"at":1');
const without = (index: number) => lines.filter((_, at) => at !== index);
const indexes = Array.from({ length: RUNS }, (_, index) => index);

describe('the file of checkpoints outside', () => {
  it('has one line for each run, over entries that all exist', async () => {
    expect(lines).toHaveLength(RUNS);
    expect(await folder.verify()).toMatchObject({ ok: true, entries: 400, checkpoints: RUNS, sealed: 400, first: 1 });
  });

  it.each(indexes)('with line %i edited is detected, and the line is named', async (index) => {
    const check = await verifyFile(lines.map((line, at) => (at === index ? edited(line) : line)));
    expect(check.bad).toMatchObject({
      checkpoint: (index + 1) * RUN,
      reason: expect.stringMatching(/checkpoints` does not have the signature/),
    });
  });

  it.each(indexes)('with line %i removed is detected', async (index) => {
    const check = await verifyFile(without(index));
    // A gap shows at the line after it; a missing last line shows in the database.
    expect(check.bad?.checkpoint).toBe(Math.min(index + 2, RUNS) * RUN);
    expect(check.bad?.reason).toMatch(index === RUNS - 1 ? /the file was cut/ : /does not follow the one before it/);
  });

  it.each(indexes.slice(1))('cut to %i lines is detected', async (count) => {
    const check = await verifyFile(lines.slice(0, count));
    expect(check.bad).toMatchObject({
      checkpoint: (count + 1) * RUN,
      reason: expect.stringContaining('the file was cut'),
    });
  });

  it.each(indexes.slice(1))('with line %i and the one before it swapped is detected', async (index) => {
    const swapped = lines.with(index, lines[index - 1] as string).with(index - 1, lines[index] as string);
    const check = await verifyFile(swapped);
    expect(check.bad?.checkpoint).toBeGreaterThanOrEqual(index * RUN);
    expect(check.bad?.checkpoint).toBeLessThanOrEqual((index + 1) * RUN);
  });

  it('is reported when missing', async () => {
    rmSync(folder.checkpoints);
    const check = await folder.verify();
    folder.writeLines(lines);
    expect(check.bad).toMatchObject({ checkpoint: RUN, reason: expect.stringMatching(/the file `.*` is missing/) });
  });

  it('with a line of garbage is detected, and the line is named', async () => {
    const check = await verifyFile(lines.with(3, 'garbage'));
    expect(check.bad).toMatchObject({
      seq: 3 * RUN + 1,
      reason: expect.stringContaining('checkpoint number 4 in `'),
    });
  });
});

describe('the checkpoints in the database', () => {
  it.each(indexes)('with number %i edited are detected, and the number is named', async (index) => {
    const size = (index + 1) * RUN;
    const check = await verifyChanged((db) =>
      db.run('UPDATE checkpoints SET line = ? WHERE size = ?', edited(lines[index] as string), size),
    );
    expect(check.bad).toMatchObject({
      checkpoint: size,
      reason: expect.stringContaining('in the database does not have the signature'),
    });
  });

  it.each(indexes)('with number %i deleted are detected', async (index) => {
    const check = await verifyChanged((db) => db.run('DELETE FROM checkpoints WHERE size = ?', (index + 1) * RUN));
    expect(check.ok).toBe(false);
    expect(check.bad?.checkpoint).toBe(Math.min(index + 2, RUNS) * RUN);
  });

  it('removed over a rewritten chain are detected by the file outside', async () => {
    const check = await verifyChanged((db) => {
      db.run('DELETE FROM checkpoints');
      rechain(db, 1);
    });
    expect(check.bad).toMatchObject({
      seq: 1,
      checkpoint: RUN,
      reason: expect.stringContaining('they have been rewritten'),
    });
  });

  it('signed by another key over a rewritten chain are detected', async () => {
    const other = new ChainFolder();
    await other.fill(RUN * RUNS, RUN);
    const foreign = other.lines();
    other.remove();
    const check = await verifyFile(foreign);
    expect(check.bad).toMatchObject({ checkpoint: RUN, reason: expect.stringContaining('which is not the one given') });
  });

  it('removed with the file and every trace but the key are detected', async () => {
    rmSync(folder.checkpoints);
    const check = await verifyChanged((db) => db.run('DELETE FROM checkpoints'));
    folder.writeLines(lines);
    expect(check.bad?.reason).toContain('all others are missing');
  });

  it('removed with an emptied file are detected after a finished run', async () => {
    const other = new ChainFolder();
    const { store, checkpointer, close } = await other.open();
    await store.appendAudit([{ kind: 'run.started', body: {} }]);
    expect(await other.verify()).toMatchObject({ ok: true, notes: [expect.stringContaining('no checkpoint yet')] });
    await store.appendAudit([{ kind: 'run.finished', body: {} }]);
    await checkpointer.seal();
    await close();
    other.tamper((db) => db.run('DELETE FROM checkpoints'));
    other.writeLines([]);
    expect((await other.verify()).bad).toMatchObject({ checkpoint: 2, reason: expect.stringContaining('is missing') });
    other.remove();
  });

  it('cannot be changed or deleted by the engine itself', async () => {
    const { db } = folder.reading();
    expect(() => db.run('DELETE FROM checkpoints')).toThrow(/append-only/);
    expect(() => db.run("UPDATE checkpoints SET line = ''")).toThrow(/append-only/);
    expect(() => db.run('DELETE FROM audit')).toThrow(/append-only/);
    db.close();
  });
});

describe('a long chain', () => {
  it('has a checkpoint every 1,000 entries, even when no run ends', async () => {
    const long = new ChainFolder();
    await long.fill(2_500, 2_500);
    const sizes = long.lines().map((line) => (JSON.parse(line) as { size: number }).size);
    expect(sizes).toEqual([1_000, 2_000, 2_500]);
    expect(await long.verify()).toMatchObject({ ok: true, checkpoints: 3 });
    long.remove();
  });

  it('with its last checkpoints removed everywhere is detected by more than 1,000 entries without one', async () => {
    const long = new ChainFolder();
    await long.fill(2_500, 2_500);
    long.tamper((db) => db.run('DELETE FROM checkpoints WHERE size > 1000'));
    long.writeLines(long.lines().slice(0, 1));
    const check = await long.verify();
    expect(check.bad).toMatchObject({ seq: 2_000, reason: expect.stringContaining('is missing') });
    long.remove();
  });
});

it('a checkpoint names the hash of the line before it', () => {
  for (const [index, line] of lines.entries()) {
    const { previous } = JSON.parse(line) as { previous: string };
    expect(previous).toBe(index === 0 ? '0'.repeat(64) : checkpointHash(lines[index - 1] as string));
  }
});
