// test: how far a plan's targets have drifted since it was sealed: the same refusals as applying gives, and nothing done.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { stopEverything } from '../../../src/engine/operate/commands.ts';
import { driftReader, type ReadDrift } from '../../../src/engine/operate/plan-drift.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';

const HELD = banRule({ mode: 'approve' });

let on: OnPlatform;
let driftOf: ReadDrift;
/** Lets the time of a question pass. */
let pass: () => void;

beforeEach(() => {
  on = startOnPlatform({ rules: [HELD] });
  for (const id of ['d1', 'd2', 'd3']) on.platform.addDevice(id, { MdmData: { CompromisedStatus: 'TRUE' } });
  on.clock.sleep = (_, signal) =>
    new Promise<void>((resolve, reject) => {
      pass = resolve;
      signal?.addEventListener('abort', () => reject(new AppError('stopped', 'stopped')));
    });
  driftOf = driftReader(on.engine);
});
afterEach(() => on.close());

async function plan() {
  const { plan } = await on.run();
  if (!plan) throw new Error('no plan');
  return plan;
}

describe('the drift of a plan', () => {
  it('names each record field that changed, with both values, and what applying would answer', async () => {
    const { id, intents } = await plan();
    on.platform.compromised('d1', 'UNSURE');
    const [one, other, ...more] = await driftOf(id, ['S-d2', 'S-d1']);
    expect(more).toEqual([]);
    expect(one).toEqual({
      key: intents[0]?.key,
      action: 'ban_device',
      target: 'S-d1',
      changed: [{ subject: 'd1', field: 'MdmData.CompromisedStatus', then: 'TRUE', now: 'UNSURE' }],
      gone: [],
      refused: {
        check: 'changed-since',
        reason: 'drifted',
        reasonText: 'changed since the plan was made: MdmData.CompromisedStatus was "TRUE" and is "UNSURE"',
      },
      unread: undefined,
    });
    expect(other).toMatchObject({ target: 'S-d2', changed: [], gone: [], refused: undefined, unread: undefined });

    const { intents: applied } = await on.apply(await on.approve(await on.store.plan(id)));
    expect(applied.find(({ target }) => target === 'S-d1')?.note).toBe(one?.refused?.reasonText);
  });

  it('names what else would refuse a target: the rule, the target itself, a stop', async () => {
    const { id } = await plan();
    on.platform.patch('d1', { Banned: 'TRUE' });
    on.platform.devices.delete('d2');
    expect(await driftOf(id, ['S-d1', 'S-d2'])).toMatchObject([
      { refused: { check: 'already-so' } },
      { gone: ['d2'], refused: { check: 'target-gone' } },
    ]);
    on.rules(banRule({ mode: 'approve', field: 'Other' }));
    expect(await driftOf(id, ['S-d3'])).toMatchObject([{ refused: { check: 'rule-changed' } }]);
    await stopEverything(on.engine, { by: 'ana', reason: 'a drill' });
    expect(await driftOf(id, ['S-d3'])).toMatchObject([{ refused: { check: 'stopped' } }]);
  });

  it('names nobody as gone for an action without a call, which reads no record', async () => {
    on.rules(banRule({ mode: 'approve', does: 'notify' }));
    const { id, intents } = await plan();
    expect(intents).toMatchObject([{ action: 'notify' }, { action: 'notify' }, { action: 'notify' }]);
    expect(await driftOf(id, [intents[0]?.target as string])).toMatchObject([{ changed: [], gone: [] }]);
  });

  it('writes nothing and sends nothing', async () => {
    const { id } = await plan();
    const head = await on.store.auditHead();
    const before = [await on.store.plan(id), await on.store.intents({}), await on.store.runs(10)];
    await driftOf(id, ['S-d1', 'S-d2', 'S-d3']);
    expect(await on.store.auditHead()).toEqual(head);
    expect([await on.store.plan(id), await on.store.intents({}), await on.store.runs(10)]).toEqual(before);
    expect(on.platform.sent).toEqual([]);
  });

  it('shows why a target cannot be read, and the others', async () => {
    const { id } = await plan();
    const read = on.platform.devicesOfSerial.bind(on.platform);
    on.platform.devicesOfSerial = async (serial) => {
      if (serial === 'S-d2') throw new AppError('api_unreachable', 'no connection');
      return read(serial);
    };
    expect(await driftOf(id, ['S-d1', 'S-d2'])).toMatchObject([
      { unread: undefined },
      { target: 'S-d2', unread: 'no connection' },
    ]);
  });

  it('names targets that are late, reads no more than eight at once, and begins no read after its time', async () => {
    for (let index = 4; index <= 12; index += 1)
      on.platform.addDevice(`d${index}`, { MdmData: { CompromisedStatus: 'TRUE' } });
    const { id, intents } = await plan();
    const read = on.platform.devicesOfSerial.bind(on.platform);
    const begun: string[] = [];
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const { promise: full, resolve: isFull } = Promise.withResolvers<void>();
    on.platform.devicesOfSerial = async (serial) => {
      begun.push(serial);
      if (begun.length === 8) isFull();
      await held;
      return read(serial);
    };
    const asked = driftOf(
      id,
      intents.map(({ target }) => target),
    );
    await full;
    pass();
    const drifts = await asked;
    expect(drifts).toHaveLength(12);
    expect(new Set(drifts.map(({ unread }) => unread))).toEqual(new Set(['it was not read within 10 s: ask again']));
    release();
    expect(await driftOf(id, ['S-d9'])).toMatchObject([{ unread: undefined }]);
    expect(begun.filter((serial) => serial === 'S-d9')).toHaveLength(1);
    expect(begun).toHaveLength(9);
  });

  it('is refused for targets that the plan does not have, for too many, and without the plan', async () => {
    const { id } = await plan();
    await expect(driftOf(id, ['S-none'])).rejects.toMatchObject({
      code: 'usage',
      message: `plan ${id} has no target \`S-none\``,
    });
    await expect(
      driftOf(
        id,
        Array.from({ length: 26 }, () => 'S-d1'),
      ),
    ).rejects.toMatchObject({ code: 'usage' });
    await expect(driftOf('none', [])).rejects.toMatchObject({ code: 'not_found' });
  });
});
