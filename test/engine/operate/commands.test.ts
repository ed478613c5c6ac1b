// test: the operator commands over whole runs: the real cycle and store, on the platform in memory.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AuditKind } from '../../../src/domain/audit-entry.ts';
import type { Resolution } from '../../../src/domain/intent.ts';
import {
  acceptSnapshot,
  addExemption,
  type ExemptionAsked,
  endExemption,
  resumeEverything,
  stopEverything,
} from '../../../src/engine/operate/commands.ts';
import { exempt } from '../../../src/engine/operate/exempt.ts';
import { releaseClaims } from '../../../src/engine/operate/release.ts';
import { resolveIntent } from '../../../src/engine/operate/resolve-intent.ts';
import { TRUST_DEFAULT } from '../../../src/engine/pull/trust-gate.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';

const ADA = { by: 'ada', reason: 'because' };
const HOUR = 3_600_000;

let on: OnPlatform;
beforeEach(() => {
  on = startOnPlatform();
});
afterEach(() => on.close());

function trouble(...ids: string[]): void {
  for (const id of ids) {
    on.platform.addDevice(id);
    on.platform.compromised(id, 'TRUE');
  }
}

function exemptDevice(id: string, over: Partial<ExemptionAsked> = {}) {
  const request = {
    subject: { kind: 'device', id },
    unseen: true,
    owner: 'Ana',
    reason: 'travel',
    until: '7d',
    ...over,
  };
  return addExemption(on.engine, request, 'ada');
}

async function audited(kind: AuditKind): Promise<Record<string, unknown>[]> {
  const entries = await on.store.audit({ kind, limit: 100 });
  return entries.map(({ bytes }) => (JSON.parse(bytes) as { body: Record<string, unknown> }).body);
}

const answers = ({ decisions }: Awaited<ReturnType<OnPlatform['run']>>) =>
  decisions.map(({ decision, reason, target }) => `${target} ${decision} ${reason}`);

describe('an exempt device', () => {
  it('that was exempted in advance is not banned until the exemption ends', async () => {
    on.platform.addDevice('d1');
    const { id } = await exemptDevice('d1');
    on.platform.compromised('d1', 'TRUE');
    const round = await on.run();
    expect(answers(round)).toEqual(['S-d1 skip exempt']);
    expect(round.decisions[0]?.reasonText).toContain('Ana is responsible for it: travel');
    expect(on.platform.sent).toEqual([]);
    await endExemption(on.engine, id.slice(0, 8), ADA);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1']);
    expect(await audited('exemption.ended')).toMatchObject([{ exemption: id, by: 'ada', reason: 'because' }]);
  });

  it('protects the other devices of its serial number, and its owner protects them too', async () => {
    on.platform.addDevice('d1', { SerialNumber: 'S', Emails: ['ana@example.com'] });
    on.platform.addDevice('d2', { SerialNumber: 'S' });
    on.platform.compromised('d2', 'TRUE');
    const { id } = await exemptDevice('d1');
    expect(answers(await on.run())).toEqual(['S skip exempt']);
    await endExemption(on.engine, id, ADA);
    await exemptDevice('', { subject: { kind: 'user', id: 'ANA@example.com' } });
    expect(answers(await on.run())).toEqual(['S skip exempt']);
    expect(on.platform.sent).toEqual([]);
  });

  it('is not banned when it was exempted after the run had decided', async () => {
    trouble('d1', 'd2');
    on.platform.onWrite = ({ target }) => void (target === 'S-d1' && exemptDevice('d2'));
    const round = await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1']);
    expect(answers(round).sort()).toEqual(['S-d1 act rule_matches', 'S-d2 skip exempt']);
  });

  it('is not banned by a plan that was approved before it was exempted', async () => {
    on.rules(banRule({ mode: 'approve' }));
    trouble('d1', 'd2');
    const { plan } = await on.run();
    await on.approve(plan);
    await exemptDevice('d1');
    const { intents } = await on.apply(plan);
    expect(on.platform.sent).toEqual(['ban S-d2']);
    expect(intents.find(({ target }) => target === 'S-d1')?.status).toBe('withdrawn');
  });

  it('is not banned by the retry of a doubt', async () => {
    trouble('d1');
    on.platform.answer('S-d1', 'lost');
    await on.run();
    await exemptDevice('d1');
    on.clock.pass(QUIET_MS);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1']);
    expect(await on.intents()).toMatchObject([{ outcome: 'parked' }]);
  });

  it('that is already banned stays banned, and is unbanned when its episode clears', async () => {
    trouble('d1');
    await on.run();
    await exemptDevice('d1');
    await on.run();
    expect(on.platform.isBanned('S-d1')).toBe(true);
    on.platform.compromised('d1', 'FALSE');
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1', 'unban S-d1']);
  });

  it('is unbanned at once on request', async () => {
    trouble('d1', 'd2');
    await on.run();
    const request = { subject: { kind: 'device', id: 'd1' }, owner: 'Ana', reason: 'travel', until: '7d' };
    const { released } = await exempt(on.engine, { ...request, release: true }, 'ada');
    expect(released).toMatchObject([{ target: 'S-d1', state: 'released' }]);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1', 'ban S-d2', 'unban S-d1']);
  });

  it('with a release of many targets undoes more than the ceiling of one run', async () => {
    on.close();
    const ceilings = { run: { max: 2, percent: 0 }, day: { max: 100, percent: 0 } };
    on = startOnPlatform({ settings: (all) => ({ ...all, act: { ...all.act, ceilings } }) });
    for (const ids of [['d1', 'd2'], ['d3']]) {
      trouble(...ids);
      await on.run();
      on.clock.pass(QUIET_MS);
    }
    const selector = { field: 'Platform', value: String(on.platform.devices.get('d1')?.Platform) };
    const request = { selector, acceptForgeable: true, owner: 'Ana', reason: 'travel', until: '7d', release: true };
    const { released } = await exempt(on.engine, request, 'ada');
    expect(released.map(({ state }) => state).sort()).toEqual(['released', 'released', 'standing']);
    expect(on.platform.effects.filter((effect) => effect.startsWith('unban'))).toHaveLength(2);
  });

  it('is announced once in the audit and in every report before the exemption ends', async () => {
    const { id } = await exemptDevice('d1', { until: '25h' });
    const ending = async () => (await on.run()).run.findings?.operator?.ending.map((one) => one.id);
    expect(await ending()).toEqual([]);
    on.clock.pass(2 * HOUR);
    expect(await ending()).toEqual([id]);
    expect(await ending()).toEqual([id]);
    expect(await audited('exemption.ending')).toHaveLength(1);
  });

  it('is named when its exemption was unused for 30 days, and not otherwise', async () => {
    trouble('used');
    await exemptDevice('used', { until: '60d' });
    const { id } = await exemptDevice('unused', { until: '60d' });
    await on.run();
    on.clock.pass(30 * 24 * HOUR);
    expect((await on.run()).run.findings?.operator?.unused.map((one) => one.id)).toEqual([id]);
  });
});

describe('a request for an exemption', () => {
  it.each<[string, Partial<ExemptionAsked>, string]>([
    ['without an end in the future', { until: '2020-01-01' }, 'is in the past'],
    ['with an end that is none', { until: 'soon' }, 'expected a duration such as 30d'],
    ['with a time without its zone', { until: '2099-01-01T10:00' }, 'expected a duration'],
    ['about nothing', { subject: undefined }, 'one subject (kind and id) or one selector'],
    ['about a printer', { subject: { kind: 'printer', id: 'p' } }, '`printer` is no kind of subject'],
    ['about a field that selects nothing', { subject: undefined, selector: { field: 'Nose', value: 'x' } }, '`Nose`'],
    ['without an owner', { owner: ' ' }, 'the owner is empty'],
  ])('%s is refused, and nothing is recorded', async (_, over, message) => {
    await expect(exemptDevice('d1', over)).rejects.toThrow(message);
    expect(await on.store.exemptions()).toEqual([]);
  });
});

describe('a stop', () => {
  it('applies from the next call on, even in the middle of a run', async () => {
    trouble('d1', 'd2', 'd3');
    on.platform.onWrite = () => void stopEverything(on.engine, ADA);
    const round = await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1']);
    expect(answers(round).sort()).toEqual(['S-d1 act rule_matches', 'S-d2 hold stopped', 'S-d3 hold stopped']);
  });

  it('holds decisions while it lasts, rewrites none, and they continue after it', async () => {
    await stopEverything(on.engine, ADA);
    trouble('d1');
    const first = await on.run();
    expect(first.run.findings?.operator?.stop).toMatchObject(ADA);
    const second = await on.run();
    expect(second.decisions.map(({ id }) => id)).toEqual(first.decisions.map(({ id }) => id));
    expect(answers(await on.run('dry-run'))).toEqual(['S-d1 hold stopped']);
    expect(await on.intents()).toEqual([]);
    await resumeEverything(on.engine, ADA);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1']);
    expect(await audited('stop.lifted')).toMatchObject([{ by: 'ada' }]);
  });

  it('holds undos too', async () => {
    trouble('d1');
    await on.run();
    on.platform.compromised('d1', 'FALSE');
    await stopEverything(on.engine, ADA);
    await on.run();
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1']);
    await resumeEverything(on.engine, ADA);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1', 'unban S-d1']);
  });

  it('leaves a doubt open: it is read back, and not sent again', async () => {
    trouble('d1', 'd2');
    on.platform.answer('S-d1', 'lost');
    on.platform.answer('S-d2', 'hidden');
    await on.run();
    await stopEverything(on.engine, ADA);
    on.clock.pass(QUIET_MS);
    await on.run();
    expect((await on.intents()).map(({ outcome }) => outcome)).toEqual(['unknown', 'confirmed']);
    await resumeEverything(on.engine, ADA);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1', 'ban S-d2', 'ban S-d1']);
  });

  it('leaves an approved plan approved, for applying after it', async () => {
    on.rules(banRule({ mode: 'approve' }));
    trouble('d1');
    const { plan } = await on.run();
    await on.approve(plan);
    await stopEverything(on.engine, ADA);
    await expect(on.apply(plan)).rejects.toThrow('ada stopped everything');
    await resumeEverything(on.engine, ADA);
    await on.apply(plan);
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('that is repeated keeps the first one, and a resume needs a stop', async () => {
    await stopEverything(on.engine, ADA);
    expect(await stopEverything(on.engine, { by: 'bo', reason: 'me too' })).toMatchObject(ADA);
    expect(await audited('stop.set')).toHaveLength(2);
    await resumeEverything(on.engine, ADA);
    await expect(resumeEverything(on.engine, ADA)).rejects.toThrow('nothing is stopped');
  });
});

describe('releasing the claims of a target', () => {
  it('unbans it now, and it is not banned again until its episode has cleared', async () => {
    trouble('d1');
    await on.run();
    expect(await releaseClaims(on.engine, 'S-d1', ADA)).toMatchObject([
      { action: 'unban_device', state: 'released', intent: { outcome: 'succeeded' } },
    ]);
    expect(await on.store.claims({})).toMatchObject([{ status: 'released' }]);
    expect(await audited('claim.released')).toHaveLength(1);
    expect(answers(await on.run())).toEqual(['S-d1 skip overridden']);
    on.platform.compromised('d1', 'FALSE');
    await on.run();
    on.platform.compromised('d1', 'TRUE');
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1', 'unban S-d1', 'ban S-d1']);
  });

  it('is what later runs name for every rule that proposes it, and not a reversal', async () => {
    on.rules(banRule(), banRule({ id: 'other', field: 'Other' }));
    on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE', Other: 'TRUE' } });
    await on.run();
    await releaseClaims(on.engine, 'S-d1', ADA);
    await on.run();
    const inForce = (await on.store.decisions({ limit: 10 })).filter(({ endedSeq }) => endedSeq === undefined);
    const text = expect.stringMatching(
      /^an operator released it \(20.* UTC\): left alone until the rule has ceased to match$/,
    );
    expect(inForce).toMatchObject([{ reasonText: text }, { reasonText: text }]);
  });

  it('that another rule proposes to ban unbans it, and neither rule bans it again', async () => {
    on.rules(banRule(), banRule({ id: 'other', field: 'Other' }));
    on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE', Other: 'TRUE' } });
    await on.run();
    await releaseClaims(on.engine, 'S-d1', ADA);
    await on.run();
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1', 'unban S-d1']);
  });

  it('holds for a rule whose match went on while nothing showed it, too', async () => {
    on.rules(banRule(), banRule({ id: 'other', field: 'Other', more: 'for: 1h' }));
    const show = (MdmData: Record<string, string>) => on.platform.addDevice('d1', { MdmData });
    show({ CompromisedStatus: 'FALSE', Other: 'TRUE' });
    expect(answers(await on.run())).toEqual(['S-d1 skip for_not_reached']);
    show({ CompromisedStatus: 'TRUE' });
    await on.run();
    await releaseClaims(on.engine, 'S-d1', ADA);
    show({ CompromisedStatus: 'FALSE', Other: 'TRUE' });
    on.clock.pass(2 * HOUR);
    await on.run();
    on.clock.pass(2 * HOUR);
    expect(answers(await on.run())).toEqual(['S-d1 skip overridden']);
    expect(on.platform.sent).toEqual(['ban S-d1', 'unban S-d1']);
  });

  it('keeps the claims when the undo is refused, and can be repeated', async () => {
    trouble('d1');
    await on.run();
    on.platform.answer('S-d1', 'failed');
    expect(await releaseClaims(on.engine, 'S-d1', ADA)).toMatchObject([{ state: 'standing' }]);
    expect(await on.store.claims({})).toMatchObject([{ status: 'standing' }]);
    expect(await releaseClaims(on.engine, 'S-d1', ADA)).toMatchObject([{ state: 'released' }]);
    expect(on.platform.sent).toEqual(['ban S-d1', 'unban S-d1', 'unban S-d1']);
    expect(await on.store.claims({})).toMatchObject([{ status: 'released' }]);
  });

  it('with an undo in doubt is found done by the next run, although the rule still matches', async () => {
    trouble('d1');
    await on.run();
    on.platform.answer('S-d1', 'hidden');
    expect(await releaseClaims(on.engine, 'S-d1', ADA)).toMatchObject([{ state: 'standing' }]);
    await expect(releaseClaims(on.engine, 'S-d1', ADA)).rejects.toThrow('is not resolved yet');
    on.clock.pass(QUIET_MS);
    await on.run();
    expect(await on.store.claims({})).toMatchObject([{ status: 'released' }]);
    expect(on.platform.sent).toEqual(['ban S-d1', 'unban S-d1']);
  });

  it('with a lost undo is sent once more, although the rule still matches', async () => {
    trouble('d1');
    await on.run();
    on.platform.answer('S-d1', 'lost');
    await releaseClaims(on.engine, 'S-d1', ADA);
    on.clock.pass(QUIET_MS);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1', 'unban S-d1', 'unban S-d1']);
    expect(await on.store.claims({})).toMatchObject([{ status: 'released' }]);
  });

  it('releases orphaned claims of a missing rule', async () => {
    trouble('d1');
    await on.run();
    on.rules(banRule({ id: 'another', field: 'Other' }));
    await on.run();
    expect(await on.store.claims({})).toMatchObject([{ status: 'orphaned' }]);
    expect(await releaseClaims(on.engine, 'S-d1', ADA)).toMatchObject([{ state: 'released' }]);
    expect(on.platform.isBanned('S-d1')).toBe(false);
  });

  it('calls nothing where a person undid it already, which shows after the quiet period', async () => {
    trouble('d1');
    await on.run();
    on.platform.patch('d1', { Banned: 'FALSE' });
    await expect(releaseClaims(on.engine, 'S-d1', ADA)).rejects.toThrow('after the quiet period (15s)');
    expect(await on.store.claims({ status: 'standing' })).toHaveLength(1);
    on.clock.pass(QUIET_MS);
    expect(await releaseClaims(on.engine, 'S-d1', ADA)).toMatchObject([{ state: 'released', intent: undefined }]);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('only reports what it would do in mode dry-run', async () => {
    trouble('d1');
    await on.run();
    on.engine.daemonMode = 'dry-run';
    expect(await releaseClaims(on.engine, 'S-d1', ADA)).toMatchObject([
      { state: 'dry_run', text: expect.stringContaining('would be done: unban serial number S-d1') },
    ]);
    expect(on.platform.sent).toEqual(['ban S-d1']);
    expect(await on.store.claims({})).toMatchObject([{ status: 'standing' }]);
  });

  it('passes neither the ceiling nor a stop', async () => {
    await on.close();
    const none = { run: { max: 0, percent: 0 }, day: { max: 0, percent: 0 } };
    on = startOnPlatform();
    trouble('d1');
    await on.run();
    on.engine.settings.act.ceilings = none;
    expect(await releaseClaims(on.engine, 'S-d1', ADA)).toMatchObject([
      { state: 'standing', text: expect.stringContaining('the ceiling of unban_device') },
    ]);
    await stopEverything(on.engine, ADA);
    await expect(releaseClaims(on.engine, 'S-d1', ADA)).rejects.toThrow('ada stopped everything');
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('that Trustward did not ban is refused', async () => {
    on.platform.addDevice('d1', { Banned: 'TRUE' });
    await expect(releaseClaims(on.engine, 'S-d1', ADA)).rejects.toThrow('nothing is in force on `S-d1`');
  });
});

describe('a parked intent', () => {
  /** A ban with an effect in doubt: parked after one retry. */
  async function parked(): Promise<string> {
    trouble('d1');
    on.platform.answer('S-d1', 'lost', 'lost');
    await on.run();
    for (let round = 0; round < 2; round += 1) {
      on.clock.pass(QUIET_MS);
      await on.run();
    }
    const [intent] = await on.store.intents({ outcome: 'parked' });
    return intent?.id as string;
  }
  const resolve = (id: string, as: Resolution) => resolveIntent(on.engine, id, as, ADA);

  it('resolved as done is confirmed, and undone when its episode clears', async () => {
    const id = await parked();
    on.platform.patch('d1', { Banned: 'TRUE' });
    expect(await resolve(id, 'done')).toMatchObject({ outcome: 'confirmed', note: 'ada says done: because' });
    on.platform.compromised('d1', 'FALSE');
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1', 'ban S-d1', 'unban S-d1']);
    expect(await audited('intent.resolved')).toMatchObject([{ intent: id, as: 'done', was: 'parked', by: 'ada' }]);
  });

  it('resolved as not done is not retried in its episode, but acted on in the next one', async () => {
    expect(await resolve(await parked(), 'not-done')).toMatchObject({ outcome: 'failed' });
    expect(answers(await on.run())).toEqual(['S-d1 skip rejected']);
    on.platform.compromised('d1', 'FALSE');
    await on.run();
    on.platform.compromised('d1', 'TRUE');
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1', 'ban S-d1', 'ban S-d1']);
  });

  it('resolved as retry is read back first, and sent once more', async () => {
    const id = await parked();
    await resolve(id, 'retry');
    on.clock.pass(QUIET_MS);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1', 'ban S-d1', 'ban S-d1']);
    expect((await on.intents()).map(({ outcome }) => outcome)).toEqual(['succeeded']);
  });

  it('resolved as retry and found done is not sent again', async () => {
    const id = await parked();
    on.platform.patch('d1', { Banned: 'TRUE' });
    await resolve(id, 'retry');
    await on.run();
    expect(on.platform.sent).toHaveLength(2);
    expect(await on.store.claims({ status: 'standing' })).toHaveLength(1);
  });

  it('can be resolved once, and only while it is in doubt', async () => {
    const id = await parked();
    await resolve(id, 'done');
    await expect(resolve(id, 'not-done')).rejects.toThrow('is confirmed: only one that is unknown, parked or failed');
    await expect(resolve('nobody', 'done')).rejects.toThrow('there is no action `nobody`');
  });
});

describe('accepting a reading', () => {
  beforeEach(async () => {
    await on.close();
    on = startOnPlatform({ settings: (settings) => ({ ...settings, trust: TRUST_DEFAULT }) });
    for (let index = 0; index < 100; index += 1) on.platform.addDevice(`d${index}`);
    await on.run();
  });
  const remove = (from: number, to: number) => {
    for (let index = from; index < to; index += 1) on.platform.devices.delete(`d${index}`);
  };

  it('makes a shrunk fleet the new baseline for later runs', async () => {
    remove(50, 100);
    on.platform.compromised('d1', 'TRUE');
    expect(answers(await on.run())).toEqual(['S-d1 skip untrusted_source']);
    await acceptSnapshot(on.engine, 'devices', ADA);
    const { run } = await on.run();
    expect(run.findings?.snapshot.sources.devices).toMatchObject({
      trusted: true,
      accepted: { by: 'ada', overrode: [{ code: 'shrunk' }] },
    });
    expect(on.platform.sent).toEqual(['ban S-d1']);
    expect(await audited('baseline.accepted')).toMatchObject([{ source: 'devices', by: 'ada' }]);
    expect((await on.run()).run.findings?.snapshot.sources.devices).toMatchObject({ trusted: true, reasons: [] });
    expect(await on.store.acceptances()).toEqual([]);
  });

  it('is used up without effect when the list has lost more since', async () => {
    remove(50, 100);
    await on.run();
    await acceptSnapshot(on.engine, 'devices', ADA);
    remove(10, 50);
    const { run } = await on.run();
    expect(run.findings?.snapshot.sources.devices.trusted).toBe(false);
    expect(run.findings?.operator?.accepted).toMatchObject([{ refused: expect.stringContaining('50 records') }]);
    expect((await on.run()).run.findings?.snapshot.sources.devices.trusted).toBe(false);
  });

  it('is refused when there is nothing to accept, or nothing that can be accepted', async () => {
    await expect(acceptSnapshot(on.engine, 'devices', ADA)).rejects.toThrow('nothing to accept');
    await expect(acceptSnapshot(on.engine, 'bundles', ADA)).rejects.toThrow('`bundles` has no reading to accept');
    await expect(acceptSnapshot(on.engine, 'users', ADA)).rejects.toThrow('no run has read users');
  });
});
