// test: `why` on a device that was banned after an event: it names the run, and that it was a look between two whole runs.
import { expect, it, onTestFinished } from 'vitest';
import type { Identity } from '../../../src/domain/identity.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { readStates } from '../../../src/engine/explain/judge-subject.ts';
import { stateWords } from '../../../src/faces/report/why-words.ts';
import { startOnPlatform } from '../../support/engine-on-platform.ts';
import { addFleet, compromise, lookOn } from '../../support/looks.ts';

it('a ban after an event is shown as one, with its time and run; a ban of a whole run is not', async () => {
  const on = startOnPlatform();
  onTestFinished(() => on.close());
  await addFleet(on, 3);
  compromise(on, 'd1');
  await lookOn(on);
  on.platform.compromised('d2', 'TRUE');
  await on.run();
  const stateOf = async (id: string) => {
    const subject = (await on.store.identitiesNamed(id))[0]?.identity as Identity;
    const states = await readStates({ api: on.platform, actions: ACTIONS, reader: on.store }, subject);
    return stateWords({ states, unread: undefined, subject }).join('\n');
  };
  expect(await stateOf('d1')).toMatch(/succeeded, \S+ \S+ UTC, by rule ban in run 2 \(watch, after new events\)/);
  expect(await stateOf('d2')).toMatch(/succeeded, \S+ \S+ UTC, by rule ban in run 3$/m);
});
