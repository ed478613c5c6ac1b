// test: a retried intent has the proposals of now as its basis, in the row and in the audit.
import { afterEach, describe, expect, it } from 'vitest';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';

let on: OnPlatform;
afterEach(() => on.close());

const BOTH = { MdmData: { CompromisedStatus: 'TRUE', Other: 'TRUE' } };
const [first, second] = [banRule({ id: 'first' }), banRule({ id: 'second', field: 'Other' })];

async function rulesOf(): Promise<string[]> {
  return (await on.store.intents({})).flatMap(({ basis }) => basis.map(({ rule }) => rule));
}

describe('an intent of two rules that failed and is tried again when one of them is gone', () => {
  it('has only the remaining rule as its basis, and claims only for it', async () => {
    on = startOnPlatform({ rules: [first, second] });
    on.platform.addDevice('d1', BOTH);
    on.platform.answer('S-d1', 'failed');
    await on.run();
    expect(await rulesOf()).toEqual(['first', 'second']);
    on.rules(second);
    on.platform.answer('S-d1');
    on.clock.pass(QUIET_MS);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1', 'ban S-d1']);
    expect(await rulesOf()).toEqual(['second']);
    expect((await on.store.claims({})).map(({ rule }) => rule)).toEqual(['second']);
  });

  it('does not block the other rule when it is back', async () => {
    on = startOnPlatform({ rules: [first, second] });
    on.platform.addDevice('d1', BOTH);
    on.platform.answer('S-d1', 'failed');
    await on.run();
    on.rules(second);
    on.clock.pass(QUIET_MS);
    await on.run();
    on.rules(first, second);
    on.platform.answer('S-d1');
    on.clock.pass(QUIET_MS);
    await on.run();
    expect(on.platform.effects).toEqual(['ban S-d1']);
    expect((await on.store.claims({})).map(({ rule }) => rule).sort()).toEqual(['first', 'second']);
  });
});

it('a failed intent is not retried where another rule’s succeeded and a person reversed that', async () => {
  const held = banRule({ id: 'held', field: 'Other', mode: 'approve' });
  on = startOnPlatform({ rules: [first, held] });
  on.platform.addDevice('d1', BOTH);
  const { plan } = await on.run('approve', ['held']);
  on.platform.answer('S-d1', 'failed');
  await on.run();
  await on.apply(await on.approve(plan));
  await on.run(); // the first rule adopts the ban
  on.platform.patch('d1', { Banned: 'FALSE' });
  await on.run(); // this may still be a stale reading
  on.clock.pass(QUIET_MS);
  await on.run();
  expect(on.platform.effects).toEqual(['ban S-d1']);
  expect((await on.store.claims({})).map(({ status }) => status)).toEqual(['overridden', 'overridden']);
});
