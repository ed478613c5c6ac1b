// run: the life of a fleet under a feed that stands still: the platform answers with an old list while its clock goes on. Nothing is done or undone
// by it, no episode is taken for reversed, and after it everything goes on as before.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Facts } from '../../../src/domain/facts.ts';
import { acceptSnapshot } from '../../../src/engine/operate/commands.ts';
import { sourceChecks } from '../../../src/runtime/daemon/readiness.ts';
import { alertsOf } from '../../support/alerts-of.ts';
import { banRule, type OnPlatform, type Round, startOnPlatform } from '../../support/engine-on-platform.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const EVERY = 20 * MINUTE;
const ADA = { by: 'ada', reason: 'maintenance of the platform' };

let on: OnPlatform;
let frozen: Facts[] | undefined;

beforeEach(async () => {
  frozen = undefined;
  on = startOnPlatform({ rules: [banRule()] });
  const { platform } = on;
  const { pages, stream } = platform;
  platform.pages = async function* (source) {
    if (frozen) yield { records: frozen, total: frozen.length };
    else yield* pages.call(platform, source);
  };
  platform.stream = async function* (source) {
    if (frozen) yield frozen;
    else yield* stream.call(platform, source);
  };
  for (let no = 0; no < 20; no += 1) platform.addDevice(`d${no}`);
  await live(30 * HOUR);
});

afterEach(() => on.close());

/** Each run, every device has reported. A frozen list does not show it. */
async function step(): Promise<Round> {
  on.clock.pass(EVERY);
  for (const [id, device] of on.platform.devices) {
    const MdmData = { ...(device.MdmData as Facts), Timestamp: BigInt(on.clock.now - MINUTE) * 1_000_000n };
    on.platform.patch(id, { MdmData });
  }
  return on.run();
}

async function live(ms: number): Promise<Round[]> {
  const rounds: Round[] = [];
  for (const until = on.clock.now + ms; on.clock.now < until; ) rounds.push(await step());
  return rounds;
}

const listNow = () => [...on.platform.devices.values()].map((device) => ({ ...device }));
const causes = ({ run }: Round) => run.findings?.snapshot.sources.devices.reasons.map(({ code }) => code);
const reported = (id: string, CompromisedStatus: string) => {
  const { MdmData } = on.platform.devices.get(id) as { MdmData: Facts };
  on.platform.patch(id, { MdmData: { ...MdmData, CompromisedStatus } });
};

describe('a feed that stands still', () => {
  it.each<[string, () => Promise<Facts[]>]>([
    [
      'as it was before our own ban',
      async () => {
        reported('d1', 'TRUE');
        const before = listNow();
        await on.run();
        return before;
      },
    ],
    [
      'with a list that was read before it',
      async () => {
        const before = listNow();
        await on.run();
        reported('d1', 'TRUE');
        await step();
        await step();
        return before;
      },
    ],
    [
      'with a list of the day before',
      async () => {
        const before = listNow();
        await live(24 * HOUR);
        reported('d1', 'TRUE');
        await step();
        return before;
      },
    ],
  ])(
    '%s is named at once; our ban is not taken for lifted, and afterwards all goes on as before',
    async (_, freeze) => {
      frozen = await freeze();
      expect(on.platform.isBanned('S-d1')).toBe(true);
      const sent = on.platform.sent.length;
      const rounds = await live(12 * HOUR);
      expect(new Set(rounds.map((round) => causes(round)?.join()))).toEqual(new Set(['stands_still']));
      expect(on.platform.sent).toHaveLength(sent);
      expect((await on.store.openState(on.clock.now)).claims).toMatchObject([{ target: 'S-d1', status: 'standing' }]);

      frozen = undefined;
      reported('d1', 'FALSE');
      reported('d2', 'TRUE');
      expect(causes(await step())).toEqual([]);
      await live(2 * HOUR);
      expect([on.platform.isBanned('S-d1'), on.platform.isBanned('S-d2')]).toEqual([false, true]);
      reported('d1', 'TRUE');
      await live(2 * HOUR);
      expect(on.platform.isBanned('S-d1')).toBe(true);
      expect(on.platform.effects.filter((effect) => effect.endsWith('d1'))).toEqual([
        'ban S-d1',
        'unban S-d1',
        'ban S-d1',
      ]);
    },
  );

  it('without any act of ours is named within two runs after eight times its longest rest, and after three in the second week', async () => {
    const runsUntilNamed = async () => {
      frozen = listNow();
      const rounds = await live(6 * HOUR);
      frozen = undefined;
      await live(HOUR);
      return rounds.findIndex((round) => causes(round)?.includes('stands_still')) + 1;
    };
    // Its longest rest is the time between two runs.
    const first = await runsUntilNamed();
    await live(7 * 24 * HOUR);
    expect([first, await runsUntilNamed()].map((runs, week) => runs - ([8, 3][week] as number))).toEqual([
      expect.toBeOneOf([0, 1, 2]),
      expect.toBeOneOf([0, 1, 2]),
    ]);
  });

  it('is shown with its time by `/readyz` and in an alert, once', async () => {
    const alerts = alertsOf(on);
    frozen = listNow();
    await live(8 * HOUR);
    const text = /devices are not trusted.*stands still: its newest report is of 2027-01-\d\d \d\d:\d\d:\d\d UTC/;
    expect(await alerts.look()).toMatchObject([{ code: 'untrusted', text: expect.stringMatching(text) }]);
    await step();
    expect(await alerts.look()).toEqual([]);
    expect(await sourceChecks(on.store)).toEqual([
      {
        name: 'sources',
        ok: true,
        text: expect.stringMatching(/^devices are not trusted in run \d+ \(stands still: its newest report is of/),
      },
    ]);
    frozen = undefined;
    await step();
    expect(await sourceChecks(on.store)).toEqual([]);
  });

  it('that a person accepts is trusted, and is learned', async () => {
    frozen = listNow();
    await live(8 * HOUR);
    await acceptSnapshot(on.engine, 'devices', ADA);
    const { run } = await step();
    expect(run.findings?.snapshot.sources.devices).toMatchObject({
      trusted: true,
      accepted: { ...ADA, overrode: [{ code: 'stands_still' }] },
    });
    expect((await live(8 * HOUR)).flatMap(causes)).toEqual([]);
  });

  it('is known again after a restart', async () => {
    frozen = listNow();
    await live(8 * HOUR);
    on.restart();
    expect(causes(await step())).toEqual(['stands_still']);
  });
});
