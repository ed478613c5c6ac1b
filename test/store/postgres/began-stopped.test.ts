// An organization of which the database lacks commits begins stopped, and whoever resumes it reads why: also when a person had stopped it before.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openForWriting } from '../../../src/runtime/compose/opened.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { systemLog } from '../../../src/runtime/system/log.ts';
import { hasNoPostgres, NEEDS_POSTGRES } from '../../support/postgres.ts';
import { InPostgres, newOrganization } from '../../support/stores.ts';

const ELSEWHERE = { system: '1', timeline: 1, lsn: '0/1', fence: 0, commits: 0 };

describe.skipIf(hasNoPostgres)(`a database that lacks commits${NEEDS_POSTGRES}`, () => {
  const database = new InPostgres();
  beforeAll(() => database.prepare(), 180_000);
  afterAll(() => database.end());

  test.each([
    ['stops its organization with the reason', undefined],
    ['is told of in the stop of a person too', 'maintenance'],
  ])('%s, once, in the audit', { timeout: 120_000 }, async (_, reason) => {
    const organization = newOrganization();
    const state = mkdtempSync(join(tmpdir(), 'trustward-state-'));
    onTestFinished(() => rmSync(state, { recursive: true }));
    mkdirSync(join(state, organization));
    const [url, beside] = [database.url(), join(state, organization, 'trustward')];
    const open = () =>
      openForWriting(
        { kind: 'postgres', url, password: undefined, organization, beside },
        { part: 'actor', clock: systemClock, log: systemLog({ level: 'silent', form: 'plain' }), quietMs: 0 },
      );
    const first = await open();
    const at = systemClock.nowMs();
    const asked = [{ kind: 'stop.set' as const, body: { by: 'ana', reason: reason ?? '', since: at } }];
    if (reason) await first.store.setStop({ at, by: 'ana', reason }, asked);
    await first.close();

    writeFileSync(join(state, organization, 'position'), JSON.stringify(ELSEWHERE));
    const second = await open();
    const stop = await second.store.stop();
    expect(stop?.by).toBe('trustward');
    expect(stop?.reason).toContain('this is another PostgreSQL cluster');
    if (reason) expect(stop?.reason).toMatch(/stopped before: .*ana.*maintenance/);
    await second.close();

    const third = await open();
    expect(await third.store.stop()).toEqual(stop);
    const entries = await third.store.audit({ limit: 9, kind: 'stop.set' });
    expect(entries.map(({ bytes }) => JSON.parse(bytes).body.reason)).toEqual([
      stop?.reason,
      ...(reason ? [reason] : []),
    ]);
    await third.close();
  });
});
