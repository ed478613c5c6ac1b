// test: a run gives way to other work between its long steps, so that a stop is answered.
import { expect, it } from 'vitest';
import { startOnPlatform } from '../../support/engine-on-platform.ts';

/** Counts the turns of the event loop until it is ended. */
function countTurns(): { now(): number; end(): void } {
  let turns = 0;
  const turn = () => {
    turns += 1;
    immediate = setImmediate(turn);
  };
  let immediate = setImmediate(turn);
  return { now: () => turns, end: () => clearImmediate(immediate) };
}

it('the event loop turns before a run commits what it decided', async () => {
  const on = startOnPlatform();
  for (let number = 0; number < 600; number += 1)
    on.platform.addDevice(`d${number}`, { MdmData: { CompromisedStatus: 'TRUE' } });
  const turns = countTurns();
  try {
    const { store } = on.engine;
    const { plans, commitRun } = store;
    const [atPlans, atCommit, atDeciding]: number[][] = [[], [], []];
    on.engine.progress = ({ phase }) => void (phase === 'deciding' && atDeciding?.push(turns.now()));
    store.plans = (...given) => {
      atPlans?.push(turns.now());
      return plans.apply(store, given);
    };
    store.commitRun = (...given) => {
      atCommit?.push(turns.now());
      return commitRun.apply(store, given);
    };
    await on.run('dry-run');
    const [deciding = 0, sealing = 0, committing = 0] = [atDeciding?.[0], atPlans?.[0], atCommit?.[0]];
    expect(sealing - deciding).toBeGreaterThan(20);
    expect(committing - sealing).toBeGreaterThan(1); // a ceiling leaves a hundred to seal
  } finally {
    turns.end();
    await on.close();
  }
});
