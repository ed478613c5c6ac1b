// http: how often open streams are woken while entries keep coming.
import { expect, it } from 'vitest';
import { giveWay } from '../../../src/base/turns.ts';
import { EventFeed } from '../../../src/faces/http/stream/event-feed.ts';
import { openEndpoint } from '../../support/endpoint.ts';
import { standingClock } from '../../support/event-client.ts';

const STEP_MS = 10;

/** How often each of so many streams was woken within a second in which an entry comes every 10 ms. */
async function wakesInASecond(streams: number): Promise<number> {
  const clock = standingClock();
  let commit = () => {};
  const stream = {
    onAudited: (heard: () => void) => (commit = heard),
    onProgress: () => {},
    ending: new AbortController().signal,
  };
  let feed: EventFeed | undefined;
  openEndpoint({ clock }, (deps) => {
    feed = new EventFeed({ ...deps, stream });
    return { routes: [], problem: () => new Response() };
  });
  if (!feed) throw new Error('the endpoint asked for no pages');
  let woken = 0;
  const open = Array.from({ length: streams }, () => ({
    token: 'any',
    wake: () => {
      woken += 1;
    },
    beat: () => {},
    end: () => {},
  }));
  for (const each of open) feed.add(each);
  for (let ms = 0; ms < 1_000; ms += STEP_MS) {
    commit();
    await clock.advance(STEP_MS);
    for (let turn = 0; turn < 12; turn += 1) await giveWay();
  }
  for (const each of open) feed.remove(each);
  return woken / streams;
}

it('a few streams are woken ten times a second, and 500 once: they leave the time to other requests', async () => {
  expect(await wakesInASecond(5)).toBe(10);
  expect(await wakesInASecond(500)).toBe(1);
});
