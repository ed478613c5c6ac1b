// test: an undo that waits for an approval, beside an equal proposal of another rule: its plan can be applied, is not
// bypassed, and is done once.
import { afterEach, describe, expect, it } from 'vitest';
import type { Mode } from '../../../src/domain/rule.ts';
import { type ExplainDeps, explainSubject } from '../../../src/engine/explain/judge-subject.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';

let on: OnPlatform;
afterEach(() => on.close());

/** Rule ban has banned d1 and no longer matches, so its undo waits; rule unban proposes the same by itself. */
async function waitingBeside(mode: Mode): Promise<void> {
  on = startOnPlatform();
  on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
  await on.run();
  on.clock.pass(QUIET_MS);
  on.rules(banRule({ mode: 'approve' }), banRule({ id: 'unban', field: 'Other', does: 'unban_device', mode }));
  on.platform.patch('d1', { MdmData: { CompromisedStatus: 'FALSE', Other: 'TRUE' } });
}

async function explained(rule: string) {
  const { engine } = on;
  const { settings, store } = engine;
  const { rules } = engine.active();
  const deps = { ...engine, reader: store, rules, settings: { ...settings, ...settings.decide } };
  const { decisions, recorded } = await explainSubject(deps as unknown as ExplainDeps, rule, 'S-d1');
  return { recorded: recorded.decisions, unasked: decisions.flatMap(({ notAsked }) => notAsked) };
}

const claims = async () => (await on.store.claims({})).map(({ rule, status }) => `${rule}: ${status}`);

describe('an undo that waits for approval', () => {
  it.each([['approve'], ['dry-run']] as const)(
    'beside an equal proposal of mode %s is done once it is approved',
    async (mode) => {
      await waitingBeside(mode);
      const { plan } = await on.run();
      const applied = await on.apply(await on.approve(plan));
      expect(applied.refused).toEqual([]);
      expect(applied.intents).toMatchObject([{ undo: true, outcome: 'succeeded', basis: [{ rule: 'ban' }] }]);
      expect(on.platform.effects).toEqual(['ban S-d1', 'unban S-d1']);
      expect(await claims()).toEqual(['ban: ended']);
      on.clock.pass(QUIET_MS);
      const after = await on.run();
      expect(after.plan).toBeUndefined();
      expect(after.decisions.map(({ rule, reason }) => `${rule}: ${reason}`)).toEqual(['unban: already_so']);
    },
  );

  it('beside a proposal that may act is not sent a second time by its plan, nor by a dry run’s plan with both', async () => {
    await waitingBeside('enforce');
    const dry = await on.run('dry-run');
    expect(dry.plan?.intents.map(({ undo, held }) => ({ undo, held }))).toEqual([
      { undo: true, held: true },
      { undo: false, held: false },
    ]);
    const { plan } = await on.run();
    expect(on.platform.effects).toEqual(['ban S-d1', 'unban S-d1']);
    for (const one of [plan, dry.plan]) await on.apply(await on.approve(one));
    expect(on.platform.sent).toEqual(['ban S-d1', 'unban S-d1']);
  });

  it.each([['approve'], ['enforce']] as const)(
    'is left by `explain` to the recorded decision of an equal wish of mode %s',
    async (mode) => {
      await waitingBeside(mode);
      const { decisions } = await on.run('dry-run');
      const { recorded, unasked } = await explained('unban');
      expect(recorded).toEqual(decisions.filter(({ rule }) => rule === 'unban'));
      expect(unasked).toContain('cleared');
    },
  );
});
