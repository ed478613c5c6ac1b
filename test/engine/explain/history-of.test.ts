// test: the history of a target and of a subject: what was decided and called, and what people did about it, in a real organization.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { historyOf } from '../../../src/engine/explain/history-of.ts';
import { endExemption } from '../../../src/engine/operate/commands.ts';
import { exempt } from '../../../src/engine/operate/exempt.ts';
import { releaseClaims } from '../../../src/engine/operate/release.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { type Organization, startOrganization } from '../../support/organization.ts';

const ANA = { by: 'ana (command line)', reason: 'a new laptop' };
let org: Organization;
let device: string;

beforeEach(async () => {
  org = await startOrganization({ devices: 20 });
  await org.run('enforce');
  device = org.console.fleet.addDevice({ serial: 'PAST-1', mdm_compromised: 'TRUE' });
  org.console.fleet.addDevice({ serial: 'OTHER-1', mdm_compromised: 'TRUE' });
});
afterEach(() => org.close());

const engine = () => org.composition.engine;
const lines = (about: Parameters<typeof historyOf>[1], limit = 50) =>
  historyOf(engine().store, about, { limit, nowMs: systemClock.nowMs() });
const told = async (about: Parameters<typeof historyOf>[1]) =>
  (await lines(about)).map(({ kind, text, by }) => [kind, text, by]);

it('a release shows who asked for it and why, with its call, above the ban and what decided it', async () => {
  await org.run('enforce');
  await releaseClaims(engine(), 'PAST-1', ANA);
  const expected = [
    [
      'call',
      expect.stringMatching(/^unban_device PAST-1: succeeded .*released by ana \(command line\): a new laptop$/),
      ANA.by,
    ],
    [
      'reversal',
      expect.stringMatching(/^ana \(command line\) released ban_device PAST-1: a new laptop; left alone until/),
      ANA.by,
    ],
    ['call', expect.stringMatching(/^ban_device PAST-1: succeeded/), undefined],
    ['decision', 'act ban_device PAST-1: the rule matches', undefined],
  ];
  expect(await told({ target: 'PAST-1' })).toEqual(expected);
  expect(await told({ subjectId: device })).toEqual(expected);
  const [call, , ban, decided] = await lines({ target: 'PAST-1' });
  expect([call?.run, ban?.run, decided?.run]).toEqual([undefined, 2, 2]);
});

it('a reversal by somebody unknown is shown without a name', async () => {
  await org.run('enforce');
  org.console.fleet.banByHand('PAST-1', 'FALSE');
  // A change right after the call may be a stale read: it is believed after the quiet period.
  while ((await org.run('enforce')).of('skip', 'overridden').length === 0);
  const reversal = (await lines({ target: 'PAST-1' })).find(({ kind }) => kind === 'reversal');
  expect(reversal).toMatchObject({
    text: expect.stringMatching(/^somebody reversed ban_device PAST-1: .* is FALSE, and was TRUE; left alone/),
    by: undefined,
    rules: ['ban-compromised-device'],
  });
});

it('an exemption of the device is in the history of its serial number, before anything else happened', async () => {
  const about = {
    subject: { kind: 'device', id: device },
    unseen: true,
    owner: 'Bo',
    reason: 'travel',
    until: '1d',
    release: false,
  };
  const { exemption } = await exempt(engine(), about, ANA.by);
  await org.run('enforce');
  await endExemption(engine(), exemption.id, { by: 'bo', reason: 'back' });
  expect((await told({ target: 'PAST-1' })).map(([kind, , by]) => [kind, by])).toEqual([
    ['exemption', 'bo'],
    ['decision', undefined],
    ['exemption', ANA.by],
  ]);
});

it('a dry run adds its decision and no call, and a limit keeps the newest lines', async () => {
  await org.run('dry-run');
  expect(await told({ target: 'PAST-1' })).toEqual([
    ['decision', 'act ban_device PAST-1: the rule matches (dry run: nothing was called)', undefined],
  ]);
  await org.run('enforce');
  expect((await lines({ target: 'PAST-1' }, 1)).map(({ kind }) => kind)).toEqual(['call']);
  expect(await lines({ target: 'NOBODY' })).toEqual([]);
});
