// A history records what runs see and decide, and changes neither. What it records of a run is what that run rested on.
import { describe, expect, it } from 'vitest';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { MemoryHistory } from '../../support/memory-history.ts';

async function life(on: OnPlatform) {
  const rounds = [];
  for (let id = 1; id <= 5; id += 1) on.platform.addDevice(`d${id}`);
  rounds.push(await on.run());
  on.platform.compromised('d2', 'TRUE');
  on.clock.pass(60_000);
  rounds.push(await on.run());
  on.platform.compromised('d2', 'FALSE');
  on.clock.pass(60_000);
  rounds.push(await on.run());
  on.platform.devices.delete('d5');
  on.clock.pass(60_000);
  rounds.push(await on.run());
  return rounds;
}

describe('a history', () => {
  it('changes no decision and no call', async () => {
    const plain = startOnPlatform();
    const recorded = startOnPlatform();
    recorded.engine.history = new MemoryHistory(recorded.store);
    const [a, b] = [await life(plain), await life(recorded)];
    expect(b).toEqual(a);
    expect(recorded.platform.effects).toEqual(plain.platform.effects);
  });

  it('records each fact once, with the run that saw it changed', async () => {
    const on = startOnPlatform({ rules: [banRule()] });
    const history = new MemoryHistory(on.store);
    on.engine.history = history;
    await life(on);
    await history.settled();
    const changed = history.runs.map(({ changes }) =>
      [...changes]
        .filter(({ path }) => path !== 'MdmData.Timestamp')
        .map(({ subject, path, value }) => ({ subject, path, value })),
    );
    expect(changed[0]?.filter(({ path }) => path === 'DeviceID')).toHaveLength(5);
    expect(changed[1]).toEqual([{ subject: 'd2', path: 'MdmData.CompromisedStatus', value: 'TRUE' }]);
    expect(changed[2]).toContainEqual({ subject: 'd2', path: 'MdmData.CompromisedStatus', value: 'FALSE' });
    expect(changed[3]).toContainEqual({ subject: 'd5', path: '', value: undefined });
    expect(history.runs.map(({ written }) => written.map(({ decision }) => decision))).toEqual([
      [],
      ['act'],
      ['act'],
      expect.anything(),
    ]);
    expect(history.runs.map(({ ruleSet }) => ruleSet?.files.size)).toEqual([1, undefined, undefined, undefined]);
  });
});
