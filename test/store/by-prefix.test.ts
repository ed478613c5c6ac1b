// test: what a person types of an id: enough of it finds the row, too little names those that it could be, nothing finds none.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { releaseClaims } from '../../src/engine/operate/release.ts';
import { resolveIntent } from '../../src/engine/operate/resolve-intent.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../support/engine-on-platform.ts';

const ANN = { by: 'ann', reason: 'seen in the console' };

let on: OnPlatform;

beforeEach(() => {
  on = startOnPlatform();
  for (const id of ['d1', 'd2']) {
    on.platform.addDevice(id, { MdmData: { CompromisedStatus: 'TRUE' } });
  }
});
afterEach(() => on.close());

describe('a beginning of an id', () => {
  it('of one intent resolves it; of several it is refused, with each of them named, and none is resolved', async () => {
    for (const serial of ['S-d1', 'S-d2']) on.platform.answer(serial, 'lost');
    await on.run();
    const [first, second] = await on.store.intents({ outcome: 'unknown' });
    const shared = commonBeginning(first?.id ?? '', second?.id ?? '');
    await expect(resolveIntent(on.engine, shared, 'done', ANN)).rejects.toMatchObject({
      code: 'usage',
      message: `intent \`${shared}\` is ambiguous: it begins ${first?.id} (ban_device S-d1, unknown), ${second?.id} (ban_device S-d2, unknown); give more of its id`,
    });
    expect(await on.store.intents({ outcome: 'unknown' })).toHaveLength(2);
    const enough = (first?.id ?? '').slice(0, shared.length + 1);
    expect(await resolveIntent(on.engine, enough, 'done', ANN)).toMatchObject({ id: first?.id, outcome: 'confirmed' });
    expect((await on.store.intents({ outcome: 'unknown' })).map(({ id }) => id)).toEqual([second?.id]);
  });

  it('of one run finds its report; of several it names at most five and shows that there are more', async () => {
    const runs = [];
    for (let count = 0; count < 7; count += 1) runs.push((await on.run()).run);
    const last = runs.at(-1);
    expect((await on.store.run(last?.id ?? ''))?.seq).toBe(7);
    await expect(on.store.run('0')).rejects.toMatchObject({ message: expect.stringContaining('(number 5) and more;') });
    await expect(on.store.run('0')).rejects.toMatchObject({ message: expect.not.stringContaining('(number 6)') });
  });

  it('that is a number is the number of a run, as lists and reports show it, and the beginning of none', async () => {
    const first = await on.run();
    await on.run();
    expect(await on.store.run('1')).toMatchObject({ id: first.run.id, seq: 1 });
    expect((await on.store.run('2'))?.id).not.toBe(first.run.id);
    for (const typed of ['3', '10', '999999999999999999', '1.0', '+1'])
      expect(await on.store.run(typed)).toBeUndefined();
    expect((await on.store.run(first.run.id))?.seq).toBe(1);
  });

  it('that is the whole id of one is that one, whatever else begins so', async () => {
    on.rules(banRule({ mode: 'approve' }));
    const { plan } = await on.run();
    if (!plan) throw new Error('the run made no plan');
    await on.store.changePlan({ ...plan, id: `${plan.id}-more` }, [], []);
    expect((await on.store.plan(plan.id))?.id).toBe(plan.id);
    await expect(on.store.plan(plan.id.slice(0, -1))).rejects.toMatchObject({ code: 'usage' });
  });

  it('that is empty, or has a wildcard in it, is the beginning of none', async () => {
    on.rules(banRule({ mode: 'approve' }));
    await on.run();
    for (const typed of ['', '%', '*', '_', '0%']) {
      expect(await on.store.plan(typed)).toBeUndefined();
      expect(await on.store.run(typed)).toBeUndefined();
      expect(await on.store.intent(typed)).toBeUndefined();
      expect(await on.store.exemption(typed)).toBeUndefined();
    }
  });
});

describe('a beginning of a target', () => {
  it('releases no claim, and the refusal names the targets that begin so', async () => {
    await on.run();
    await expect(releaseClaims(on.engine, 'S-d', ANN)).rejects.toMatchObject({
      code: 'not_found',
      message: 'no claim on `S-d` is open: give the whole target; such claims are on `S-d1`, `S-d2`',
    });
    await expect(releaseClaims(on.engine, 'T', ANN)).rejects.toMatchObject({
      message: 'no claim on `T` is open: `claims list` shows those that are',
    });
    expect(await on.store.claims({ status: 'standing' })).toHaveLength(2);
  });
});

function commonBeginning(a: string, b: string): string {
  let length = 0;
  while (a[length] === b[length]) length += 1;
  return a.slice(0, length);
}
