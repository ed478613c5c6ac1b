// test: a run gives way to other work between its long steps, so that a stop is answered.
import { expect, it } from 'vitest';
import { startOnPlatform } from '../support/engine-on-platform.ts';

it('the event loop turns before a run commits what it decided', async () => {
  const on = startOnPlatform();
  on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
  let turns = 0;
  const turn = () => {
    turns += 1;
    immediate = setImmediate(turn);
  };
  let immediate = setImmediate(turn);
  try {
    const { store } = on.engine;
    const { plans, commitRun } = store;
    let atPlans = 0;
    let atCommit = 0;
    store.plans = (...given) => {
      atPlans = turns;
      return plans.apply(store, given);
    };
    store.commitRun = (...given) => {
      atCommit = turns;
      return commitRun.apply(store, given);
    };
    await on.run();
    expect(atCommit).toBeGreaterThan(atPlans);
    expect(atPlans).toBeGreaterThan(0);
  } finally {
    clearImmediate(immediate);
    await on.close();
  }
});
