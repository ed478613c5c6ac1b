// report: the JSON of reports and of replays is as its published schema has it, whatever kind of run it is of.
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { replayJsonSchema, replaySchema } from '../../../src/contract/replay.ts';
import { reportJsonSchema, reportSchema } from '../../../src/contract/report.ts';
import type { RunRecord } from '../../../src/domain/store.ts';
import type { ReportReader } from '../../../src/domain/store-ports.ts';
import { whatIf } from '../../../src/engine/run/what-if.ts';
import { buildReport } from '../../../src/faces/report/build-report.ts';
import { reportJson } from '../../../src/faces/report/json.ts';
import { replayDocument } from '../../../src/faces/report/replay/build.ts';
import { composeWhatIf } from '../../../src/runtime/compose/compose.ts';
import { readConfig } from '../../../src/runtime/config/config.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { SqlReader } from '../../../src/store/reader.ts';
import { migrate, openDatabase, SqliteWork } from '../../../src/store/sqlite/database.ts';
import { addRun, decision, intent, openStore, plan, tally } from '../../support/filled-store.ts';
import { BAN_COMPROMISED, DISABLE_FAILING, type Organization, startOrganization } from '../../support/organization.ts';
import { difference, replay, wrongForty } from '../../support/replays.ts';

const ROOT = new URL('../../..', import.meta.url).pathname;
const published = z.fromJSONSchema(reportJsonSchema() as never);

/** As other programs read it, and as strictly as the types are. */
async function read(reader: ReportReader, run: RunRecord) {
  const report = JSON.parse(reportJson(await buildReport(reader, run)));
  published.parse(report);
  return reportSchema.parse(report);
}

describe('the schema of the JSON report', () => {
  it('is in the docs as the types have it (`npm run docs:report` writes it)', async () => {
    const text = `${JSON.stringify(reportJsonSchema(), null, 2)}\n`;
    await expect(text).toMatchFileSnapshot(join(ROOT, 'docs/report.schema.json'));
  });

  it('refuses a report that lacks a name', async () => {
    const store = openStore();
    const { sentence: _, ...rest } = JSON.parse(reportJson(await buildReport(store, await addRun(store))));
    expect(published.safeParse(rest).success).toBe(false);
  });

  it('describes a run with all kinds of decisions, a plan and missing facts', async () => {
    const store = openStore();
    const held = decision({
      id: 'b',
      decision: 'hold',
      reason: 'approval_needed',
      mode: 'approve',
      outcome: undefined,
    });
    const changed = { changes: [{ path: 'spec.port', from: null, to: 9_007_199_254_740_993n }] };
    const deletion = { devices: ['d'], owners: null, certificates: 2, users: ['ana@x'] };
    const run = await addRun(store, {
      mode: 'enforce',
      decisions: [
        decision({
          id: 'e',
          target: 'S-3',
          flip: { verdict: 'no_match', changes: [{ fact: 'a', from: 1, to: undefined }] },
        }),
        decision({
          mode: 'enforce',
          outcome: 'succeeded',
          intentId: 'intent1',
          facts: { a: [1n, { b: null }], c: true },
        }),
        held,
        decision({ id: 'c', decision: 'skip', reason: 'exempt', effect: { text: '', devices: [], ...changed } }),
        decision({ id: 'd', target: 'S-2', effect: { text: '', devices: [], deletion, ends: ['ban of rule r'] } }),
      ],
      intents: [intent()],
      plan: plan(held),
      tallies: [tally({ missing: { 'MdmData.CompromisedStatus': 3 }, unknown: 3 })],
      sources: { events: { state: 'unavailable', trusted: false, form: 'none' } },
    });
    expect((await read(store, run)).decisions).toHaveLength(5);
  });

  it('describes a run that was aborted, also before it had a snapshot', async () => {
    const store = openStore();
    const run = await addRun(store, { error: 'the API did not answer' });
    expect((await read(store, run)).sentence).toBe('This run was aborted: the API did not answer.');
    await read(store, { ...run, findings: undefined, planId: undefined });
  });

  it('describes the reports of a database that an earlier version wrote', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'trustward-'));
    const kept = join(ROOT, 'test/store/kept/tables-11');
    const packed = readdirSync(kept).find((name) => name.startsWith('demo.db') && name.endsWith('.gz')) as string;
    const file = join(folder, 'demo.db');
    writeFileSync(file, gunzipSync(readFileSync(join(kept, packed))));
    const db = openDatabase(file);
    migrate(db);
    const reader = new SqlReader(new SqliteWork(db), systemClock);
    const runs = await reader.runs(100);
    expect(runs.length).toBeGreaterThan(20);
    for (const run of runs) {
      const report = await read(reader, run);
      expect(report).toMatchObject({ limits: [], ceilings: [] });
      expect(report.trend.length).toBeGreaterThan(0);
    }
    db.close();
    rmSync(folder, { recursive: true });
  });
});

describe('the report of an organization', () => {
  let org: Organization;
  beforeAll(async () => {
    org = await startOrganization({ compromised: 3, rules: { ban: BAN_COMPROMISED, service: DISABLE_FAILING } });
  });
  afterAll(() => org.close());

  it('is as the schema has it in a dry run, a live run, a run over one rule and a what-if', async () => {
    const { store } = org.composition.engine;
    const dry = await read(store, (await org.run('dry-run')).run);
    const live = await read(store, (await org.run('enforce')).run);
    const scoped = await read(store, (await org.run('enforce', ['ban-compromised-device'])).run);
    expect([dry, live, scoped].map(({ rules }) => rules.length)).toEqual([2, 2, 1]);
    await org.composition.close();
    cpSync(org.rulesDir, join(org.dir, 'other'), { recursive: true });
    const { engine, close } = await composeWhatIf(readConfig({ ...org.env, TRUSTWARD_RULES: join(org.dir, 'other') }));
    const { run, reader } = await whatIf(engine, { rules: undefined });
    expect(await read(reader, run)).toMatchObject({ run: { whatIf: true }, changes: { since: null }, trend: [] });
    await close();
    await org.restart();
  });
});

describe('A replay as JSON', () => {
  const published = z.fromJSONSchema(replayJsonSchema() as never);

  describe('the schema of a replay', () => {
    it('is in the docs as the types have it (`npm run docs:report` writes it)', async () => {
      const text = `${JSON.stringify(replayJsonSchema(), null, 2)}\n`;
      await expect(text).toMatchFileSnapshot(join(ROOT, 'docs/replay.schema.json'));
    });

    it('describes a replay with all there can be, and one of nothing', () => {
      for (const found of [
        wrongForty(),
        wrongForty({ way: 'as_was', differences: [difference()] }),
        replay({ runs: 0 }),
      ]) {
        const read = JSON.parse(JSON.stringify(replayDocument(found)));
        published.parse(read);
        replaySchema.parse(read);
      }
    });

    it('refuses a replay that lacks a name', () => {
      const { gaps: _, ...rest } = replayDocument(wrongForty());
      expect(published.safeParse(rest).success).toBe(false);
    });
  });
});
