// A store in which Trustward has acted: what pages show of what is in force, in doubt and failed. In: a store. Out: rows; names are as hostile
// as devices and people choose them.
import { type Claim, isOpenClaim } from '../../../src/domain/episode.ts';
import type { Intent, SettledAs } from '../../../src/domain/intent.ts';
import type { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { addRun, decision, deviceSeen, intent, START_MS } from '../../support/filled-store.ts';

export const HOSTILE = `<script>alert(1)</script>\u202egnp\n${'x'.repeat(10_000)}`;
export const RULE_ID = 'ban-compromised-device';

/** Each in an episode of its own, for one rule. */
export async function addActed(
  store: SqliteStore,
  run: string,
  ends: readonly { id: string; outcome: SettledAs; note?: string; status?: Claim['status']; over?: Partial<Intent> }[],
): Promise<void> {
  const intents = ends.map(({ id, over }) => {
    const basis = intent().basis.map((one) => ({
      ...one,
      subjectId: `device-${id}`,
      episodeId: `episode-${id}`,
      decisionId: `decision-${id}`,
    }));
    const device = {
      id: `device-${id}`,
      name: HOSTILE,
      platform: 'macOS',
      model: 'Mac14,2',
      owners: [`${id}@example.com`],
      serial: `SERIAL-${id}`,
    };
    return intent({
      id: `intent-${id}`,
      runId: run,
      target: `SERIAL-${id}`,
      basis,
      effect: { text: 'ban', devices: [device] },
      ...over,
    });
  });
  const decisions = ends.map(({ id }) =>
    decision({
      id: `decision-${id}`,
      subject: { kind: 'device', id: `device-${id}` },
      target: `SERIAL-${id}`,
      mode: 'enforce',
      cappedBy: undefined,
      outcome: undefined,
      intentId: `intent-${id}`,
    }),
  );
  const changed = ends.map(({ id }) =>
    deviceSeen(`device-${id}`, { serial: `SERIAL-${id}`, name: `Laptop ${id}`, owners: [`${id}@example.com`] }),
  );
  await addRun(store, {
    id: run,
    mode: 'enforce',
    decisions,
    intents,
    identities: [{ kind: 'device', changed, had: undefined, readAt: 1 }],
  });
  for (const { id, outcome, note = 'Success', status, over } of ends) {
    const intentId = `intent-${id}`;
    const notes = [
      { kind: 'intent.sent' as const, body: { intent: intentId, action: 'ban_device', target: `SERIAL-${id}`, run } },
    ];
    await store.markSent({ intentId, run, notes });
    const claim: Claim = {
      id: `claim-${id}`,
      episodeId: `episode-${id}`,
      rule: RULE_ID,
      subjectId: `device-${id}`,
      action: 'ban_device',
      target: over?.target ?? `SERIAL-${id}`,
      intentId,
      status: status ?? 'standing',
      openedAt: START_MS,
      endedAt: isOpenClaim({ status: status ?? 'standing' }) ? undefined : START_MS + 1,
    };
    await store.settle({ intentId, outcome, note, claims: status ? [claim] : [], notes: [] });
  }
}
