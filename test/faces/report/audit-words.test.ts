// report: every kind of audit entry is one sentence, which names people, devices, runs and plans by their names where these are known.
import { describe, expect, it } from 'vitest';
import { AUDIT_KINDS, type AuditKind } from '../../../src/domain/audit-entry.ts';
import type { Facts } from '../../../src/domain/facts.ts';
import { AuditNames, auditSentence } from '../../../src/faces/report/audit-words.ts';
import { addRun, decision, deviceSeen, intent, openStore, plan, START_MS } from '../../support/filled-store.ts';

const DEVICE = '7d2f3a54-1111-2222-3333-444455556666';
const [RUN, PLAN, INTENT] = ['01m8hgn4f982gk7ke61ktxyj70', '01m71xnv1s19d6zzkkta1x39dr', '01m8hgncjzb8kx691za8vkn99e'];
const NAMED = "Nadia's iPhone (F2LUKT2H92)";

async function names() {
  const store = openStore();
  const own = { target: 'F2LUKT2H92', subject: { kind: 'device' as const, id: DEVICE } };
  const held = decision({ ...own, decision: 'hold', mode: 'approve' });
  await addRun(store, {
    id: RUN,
    decisions: [held],
    plan: plan(held, { id: PLAN, runId: RUN }),
    intents: [intent({ id: INTENT, runId: RUN, target: own.target })],
    identities: [
      {
        kind: 'device',
        changed: [deviceSeen(DEVICE, { serial: own.target, name: "Nadia's iPhone" })],
        had: undefined,
        readAt: START_MS,
      },
    ],
  });
  return (bodies: Facts[]) => AuditNames.of(store, bodies);
}

/** What entries of all kinds have, taken together. */
const BODY: Facts = {
  run: RUN,
  plan: PLAN,
  intent: INTENT,
  target: 'F2LUKT2H92',
  subject: { kind: 'device', id: DEVICE },
  action: 'ban_device',
  about: `device ${DEVICE}`,
  by: 'ana (page)',
  reason: 'cleared',
  outcome: 'succeeded',
  answer: 'act',
  source: 'devices',
  mode: 'enforce',
  trigger: 'schedule',
  rulesDir: 'rules',
  address: 'https://api.example',
  from: 'v1',
  to: 'v2',
  file: 'trustward.db.checkpoints',
  name: 'ci',
  scope: 'read',
  as: 'done',
  text: 'the reading was used up',
  kind: 'run_aborted',
  expiresAt: START_MS,
};

/** Of those that name one subject, a run or a plan. */
const SUBJECTS: RegExp = /^(episode|decision|intent|claim)\.|^exemption\./;

describe('an entry of the audit', () => {
  it.each(AUDIT_KINDS)('of kind %s is one sentence without a bare id', async (kind: AuditKind) => {
    const of = await names();
    for (const body of [BODY, { ...BODY, by: undefined as never }]) {
      const text = auditSentence({ kind, body }, await of([body]));
      expect(text).toMatch(/^(?:\p{Lu}|ana \(page\))[^\n]{8,}$/u);
      expect(text).not.toMatch(/undefined|NaN|\[object|[.] ·/);
      for (const id of [RUN, PLAN, INTENT, DEVICE, 'ban_device']) expect(text).not.toContain(id);
      if (SUBJECTS.test(kind)) expect(text).toContain(NAMED);
      if (kind.startsWith('run.')) expect(text).toContain('Run 1');
      if (/^plan\.(?!.*dropped)/.test(kind)) expect(text).toContain('he plan “Ban 1 device”');
    }
  });

  it.each([
    [
      'intent.settled',
      { outcome: 'failed', note: '404: no such device' },
      `It failed to ban ${NAMED}: 404: no such device`,
    ],
    ['intent.settled', { outcome: 'unknown' }, `It is in doubt whether ${NAMED} was banned`],
    [
      'decision.made',
      { answer: 'hold', reasonText: 'more than its limit' },
      `A person decides whether to ban ${NAMED}: more`,
    ],
    [
      'decision.made',
      { answer: 'skip', reason: 'for_not_reached', reasonText: '3d' },
      `It is too early to ban ${NAMED}: 3d`,
    ],
    [
      'decision.made',
      { answer: 'skip', reasonText: `done by action ${INTENT} at 10:00` },
      `It was decided not to ban ${NAMED}: done by an earlier action at 10:00`,
    ],
    ['episode.overridden', { by: null }, `Somebody undid what Trustward did: ban ${NAMED}`],
    [
      'plan.approved',
      { reason: 'seen', reference: 'CHG-7' },
      'ana (page) approved the plan “Ban 1 device”: seen [CHG-7]',
    ],
    ['tables.changed', {}, 'Records were saved, and sealed so that a later edit shows'],
    ['intent.dry', { action: 'notify' }, `A dry run would notify about ${NAMED}`],
    ['intent.settled', { action: 'notify' }, `Done: notified about ${NAMED}`],
    ['intent.sent', { action: 'add_to_bundle' }, `The platform was asked to add ${NAMED} to a bundle`],
    ['claim.opened', { action: 'remove_from_bundle' }, `In force from now on: ${NAMED} was removed from a bundle`],
  ] as const)('of kind %s tells what %j means', async (kind, more, text) => {
    const body = { ...BODY, ...more };
    expect(auditSentence({ kind, body }, await (await names())([body]))).toContain(text);
  });

  it('has its rules and its run behind the sentence, those of its action where it names none', async () => {
    const of = await names();
    const body = { run: RUN, intent: INTENT, action: 'ban_device', target: 'F2LUKT2H92', outcome: 'succeeded' };
    const text = auditSentence({ kind: 'intent.settled', body }, await of([body]));
    expect(text).toBe(`The platform accepted it: ${NAMED} was banned · rule ban-compromised-device · run 1`);
  });

  it('about a source that is not trusted names it once', async () => {
    const body = { source: 'devices', reasons: [{ code: 'shrunk', text: 'devices: 100 to 3' }] };
    const text = auditSentence({ kind: 'source.untrusted', body }, await (await names())([body]));
    expect(text).toBe('The reading of devices is not trusted: 100 to 3');
  });

  it('whose content was tampered with says that it cannot be read', async () => {
    const text = auditSentence({ kind: 'plan.applied', body: {} }, await (await names())([]));
    expect(text).toBe('The content of this entry (plan.applied) cannot be read');
  });

  it('that names what is no longer kept says so', async () => {
    const of = await names();
    const body = { plan: 'gone', run: 'gone', target: 'S-9', action: 'ban_device' };
    expect(auditSentence({ kind: 'plan.applied', body }, await of([body]))).toMatch(
      /^A plan that is no longer kept .* · a run that is no longer kept$/,
    );
    expect(auditSentence({ kind: 'intent.sent', body }, await of([body]))).toContain('to ban S-9 ·');
  });
});
