// test: one line of time of a subject: what changed of its facts, before and after, among what was decided and done.
import { describe, expect, it } from 'vitest';
import type { HistoryReader } from '../../../../src/domain/recorded-history.ts';
import { timelineOf } from '../../../../src/engine/explain/timeline.ts';
import { banRule, startOnPlatform } from '../../../support/engine-on-platform.ts';
import { DAY, MINUTE, Recording, T0 } from '../../../support/recorded.ts';

const D1 = { kind: 'device', id: 'd1', serial: 'S-d1' } as const;

async function deps(history: HistoryReader | undefined, nowMs = T0 + 5 * DAY) {
  const on = startOnPlatform({ rules: [banRule()] });
  on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
  await on.run();
  return { reader: on.store, history, clock: { ...on.engine.clock, nowMs: () => nowMs } };
}

function changing(): Recording {
  return new Recording()
    .device('d1', { Ownership: 'Other', LastLogin: 1_700_000_000_000 })
    .run()
    .now('device', 'd1', { Ownership: 'UNKNOWN', DeviceFriendlyName: 'new\u202ename' })
    .run()
    .now('device', 'd1', { LastLogin: 1_700_000_300_000 })
    .run()
    .gone('device', 'd1')
    .run();
}

describe('the line of time', () => {
  it('has each change with the value before and after, the newest first, and its run', async () => {
    const lines = await timelineOf(await deps(changing().reader()), D1, { limit: 50, part: 'facts' });
    expect(lines.map(({ text, run, at }) => [text, run, at - T0])).toEqual([
      ['no list has it any longer', 4, 15 * MINUTE],
      ['DeviceFriendlyName: "name of d1" → "new\u202ename"; Ownership: "Other" → "UNKNOWN"', 2, 5 * MINUTE],
      [expect.stringMatching(/^first recorded, with \d+ facts$/), 1, 0],
    ]);
  });

  it('has what was decided and done between them, in the order of time', async () => {
    const given = await deps(changing().reader());
    const all = await timelineOf(given, D1, { limit: 50 });
    const acts = await timelineOf(given, D1, { limit: 50, part: 'acts' });
    const facts = await timelineOf(given, D1, { limit: 50, part: 'facts' });
    expect(acts.length).toBeGreaterThan(0);
    expect(all).toHaveLength(acts.length + facts.length);
    expect(all.map(({ at }) => at)).toEqual(all.map(({ at }) => at).sort((a, b) => b - a));
    expect(new Set(acts.map(({ kind }) => kind)).has('fact')).toBe(false);
  });

  it('has no more lines than asked for, the newest', async () => {
    const given = await deps(changing().reader());
    expect(await timelineOf(given, D1, { limit: 1, part: 'facts' })).toMatchObject([{ run: 4 }]);
  });

  it('is as without a history where none is kept', async () => {
    const lines = await timelineOf(await deps(undefined), D1, { limit: 50 });
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.some(({ kind }) => kind === 'fact')).toBe(false);
  });

  it('says that a secret changed, and not what it is', async () => {
    const history = new Recording().device('d1').run().reader();
    const secret = { kind: 'device', subject: 'd1', path: 'ServiceSpec', value: undefined, secret: true } as const;
    const reader: HistoryReader = {
      ...history,
      async *changesOf(...asked) {
        yield* history.changesOf(...asked);
        yield { ...secret, atMs: T0 + MINUTE, runSeq: 7 };
      },
    };
    const lines = await timelineOf(await deps(reader), D1, { limit: 5, part: 'facts' });
    expect(lines[0]?.text).toBe('ServiceSpec: changed; it is a secret, and not recorded');
  });
});
