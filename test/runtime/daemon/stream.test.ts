// test: the stream of a real daemon: a run and its progress as they happen, a restart in between, an archive, a revoked token, its end.
import { afterEach, describe, expect, it } from 'vitest';
import { archiveAudit, archiveFolderOf } from '../../../src/engine/audit/archive.ts';
import { publicKeyFileOf, readPublicKeys } from '../../../src/engine/audit/signing-key.ts';
import { type Daemon, startDaemon } from '../../../src/runtime/daemon/daemon.ts';
import type { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { openStream } from '../../support/event-client.ts';
import { type Organization, startOrganization } from '../../support/organization.ts';

const ADMIN = 'admin-token-0123456789';

let org: Organization;
let daemon: Daemon | undefined;

async function start(compromised = 3): Promise<void> {
  org = await startOrganization({
    devices: 300,
    compromised,
    env: { TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: '0 0 1 1 *', TRUSTWARD_TOKEN: ADMIN },
  });
}
afterEach(async () => {
  await daemon?.stop();
  daemon = undefined;
  await org.close();
});

const open = (path: string, headers = {}, token = ADMIN) => openStream(daemon?.url ?? '', { token, path, headers });
const auditedSeqs = async () =>
  (await org.composition.engine.store.audit({ afterSeq: 0, limit: 1_000 })).map(({ seq }) => seq);

describe('the stream of a daemon', () => {
  it('shows a whole run as it is committed, with its progress, and every entry once over a restart', async () => {
    await start();
    daemon = await startDaemon(org.composition);
    const first = await open('/api/stream?after=0');
    await first.until(({ events }) => events.some(({ data }) => data.kind === 'run.finished'));
    const run = first.events.find(({ data }) => data.kind === 'run.started')?.data.body as { run: string };
    const steps = first.events.filter(({ event }) => event === 'progress');
    expect(steps.length).toBeGreaterThan(0);
    expect(steps.every(({ data }) => data.run === run.run && data.plan === undefined)).toBe(true);
    expect(first.events.map(({ data }) => data.kind)).toEqual(
      expect.arrayContaining(['decision.made', 'intent.settled']),
    );

    await daemon.stop();
    await first.ended;
    await org.restart();
    daemon = await startDaemon(org.composition);
    const second = await open('/api/stream', { 'last-event-id': `${first.last}` });
    await second.until(({ events }) => events.some(({ data }) => data.kind === 'run.finished'));
    await second.until(({ last }) => last !== undefined && last >= (second.events.at(-1)?.id ?? 0));
    const seen = [...first.events, ...second.events].flatMap(({ id }) => id ?? []);
    expect(seen).toEqual((await auditedSeqs()).slice(0, seen.length));
  });

  it('begins anew with `reset` when entries after its position are archived, and otherwise does not', async () => {
    await start();
    for (let runs = 0; runs < 3; runs += 1) await org.run('dry-run');
    const { store } = org.composition.engine;
    const keys = readPublicKeys(publicKeyFileOf(org.dbFile));
    const parts = {
      store: store as unknown as SqliteStore,
      keys,
      folder: archiveFolderOf(org.dbFile),
    };
    const { seq } = await store.auditHead();
    const segment = await archiveAudit(parts, { beforeSeq: seq }, { by: 'ana', reason: 'space' });
    const to = segment?.to ?? 0;
    expect(to).toBeGreaterThan(1);
    daemon = await startDaemon(org.composition);
    const older = await open(`/api/stream?after=${to - 1}`);
    await older.until(({ events }) => events.length > 0);
    expect(older.events[0]).toMatchObject({ event: 'reset', data: { head: expect.any(Number) } });
    const newer = await open(`/api/stream?after=${to}`);
    await newer.until(({ events }) => events.length > 0);
    expect(newer.events[0]).toMatchObject({ id: to + 1 });
  });

  it('ends at once when the daemon stops', async () => {
    await start(0);
    daemon = await startDaemon(org.composition);
    const clients = await Promise.all(Array.from({ length: 20 }, () => open('/api/stream')));
    await clients[0]?.until(({ events }) => events.some(({ data }) => data.kind === 'run.finished'));
    // One that is not ended at once is cut off in a quarter of an hour: the test would end before.
    Object.assign(org.composition.ending, { withinMs: 3_600_000 });
    await daemon.stop();
    daemon = undefined;
    await Promise.all(clients.map(({ ended }) => ended));
  });
});
