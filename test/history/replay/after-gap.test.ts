// test: what changed in a gap. In: runs of a real engine, of which some are not in the record. Out: a replay says of no such change that a person
// made it: Trustward itself may have, in a run that is not recorded.
import { expect, it } from 'vitest';
import type { HistoryItem, HistoryReader } from '../../../src/domain/recorded-history.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { asItWas } from '../../../src/history/replay/as-it-was.ts';
import { whatIf } from '../../../src/history/replay/what-if.ts';
import { banRule, startOnPlatform } from '../../support/engine-on-platform.ts';
import { MemoryHistory } from '../../support/memory-history.ts';

const MINUTE = 60_000;
const ALWAYS = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };
const RULE = banRule();
const compromised = (is: boolean) => ({ MdmData: { CompromisedStatus: is ? 'TRUE' : 'FALSE' } });

/** Trustward bans three devices. Then it unbans the first one, and a person the second: in runs that are recorded or not. At last a person unbans the third. */
async function recorded({ lost }: { lost: boolean }): Promise<HistoryReader> {
  const on = startOnPlatform({ rules: [RULE] });
  const history = new MemoryHistory(on.store);
  const run = async (isRecorded = true) => {
    on.engine.history = isRecorded ? history : undefined;
    await on.run();
    await history.settled();
    on.clock.pass(5 * MINUTE);
  };
  for (const id of ['d1', 'd2', 'd3']) on.platform.addDevice(id, compromised(false));
  await run();
  for (const id of ['d1', 'd2', 'd3']) on.platform.patch(id, compromised(true));
  await run();
  await run();
  on.platform.patch('d1', compromised(false));
  on.platform.patch('d2', { Banned: 'FALSE' });
  await run(!lost);
  await run(!lost);
  await run(!lost);
  await run();
  on.platform.patch('d3', { Banned: 'FALSE' });
  await run();
  await on.close();
  return withGaps(history);
}

/** As the files give it. */
function withGaps(history: MemoryHistory): HistoryReader {
  return {
    span: () => history.span(),
    factsAt: (subject, atMs) => history.factsAt(subject, atMs),
    changesOf: (subject, fromMs, toMs) => history.changesOf(subject, fromMs, toMs),
    ruleSet: (hash) => history.ruleSet(hash),
    async *items(query): AsyncIterable<HistoryItem> {
      let before: { seq: number; startedAt: number } | undefined;
      for await (const item of history.items(query)) {
        if (item.kind === 'run') {
          const { seq, startedAt } = item.run.frame.run;
          if (before && seq > before.seq + 1)
            yield {
              kind: 'gap',
              gap: { fromMs: before.startedAt, toMs: startedAt, cause: 'not_recorded', text: 'some runs' },
            };
          before = { seq, startedAt };
        }
        yield item;
      }
    },
  };
}

const bansOf = ({ acts }: Awaited<ReturnType<typeof asItWas>>) =>
  acts
    .filter(({ undo }) => !undo)
    .map(({ target, isOver, personUndidAtMs }) => [target, isOver, personUndidAtMs !== undefined]);

it.each([
  ['as it was', (reader: HistoryReader) => asItWas(reader, { ...ALWAYS, traits: ACTIONS })],
  ['what if', (reader: HistoryReader) => whatIf(reader, [{ ...RULE, revert: false }], { ...ALWAYS, actions: ACTIONS })],
])('what changed in a gap is no act of a person, and what changed after it is: %s', async (way, replay) => {
  const bySelf = way === 'as it was';
  expect(bansOf(await replay(await recorded({ lost: false })))).toEqual([
    ['S-d1', bySelf, false],
    ['S-d2', true, true],
    ['S-d3', true, true],
  ]);
  expect(bansOf(await replay(await recorded({ lost: true })))).toEqual([
    ['S-d1', true, false],
    ['S-d2', true, false],
    ['S-d3', true, true],
  ]);
});
