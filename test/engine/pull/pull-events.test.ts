// pull: the event log: where reading begins and ends, what counts once, and which stretch of time is known.
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import type { Coverage } from '../../../src/domain/snapshot.ts';
import {
  EVENT_PULL_DEFAULT,
  type EventPullOptions,
  pullEvents,
  startOf,
} from '../../../src/engine/pull/pull-events.ts';
import { TRUST_DEFAULT } from '../../../src/engine/pull/trust-gate.ts';
import { scriptedApi, scriptedLog, stillClock } from './scripted-api.ts';

const NOW = 1_800_000_000_000;
const MINUTE = 60_000;
const WINDOW = 60 * MINUTE;

function optionsOf(api: EventPullOptions['api'], more: Partial<EventPullOptions> = {}): EventPullOptions {
  const clock = stillClock(NOW);
  const common = {
    api,
    clock,
    nowMs: NOW,
    windowMs: WINDOW,
    triedMs: 0,
    asksForServices: false,
    known: [] as Coverage[],
    trust: TRUST_DEFAULT,
  };
  return { ...common, settings: EVENT_PULL_DEFAULT, ...more };
}

const at = (id: string, createdAt: unknown) => ({ id, created_at: createdAt, type: 'Access', severity: 'ERROR' });
const many = (count: number, timeOf: (index: number) => number, name = 'e') =>
  Array.from({ length: count }, (_, index) => at(`${name}-${index}`, timeOf(index)));
/** An event before the window: the log reaches back, nothing was cut off. */
const OLD = at('old', NOW - 2 * WINDOW);

describe('where reading begins', () => {
  const known = [{ fromMs: NOW - 3 * WINDOW, toMs: NOW - MINUTE }];
  const start = (more: Partial<EventPullOptions>) => startOf(optionsOf(scriptedApi({}), { known, ...more }));

  it('is the start of the longest window at first', () => {
    expect(start({ known: [] })).toBe(NOW - WINDOW);
  });
  it('is then the end of the last read, minus the overlap for events written late', () => {
    expect(start({})).toBe(NOW - MINUTE - EVENT_PULL_DEFAULT.overlapMs);
  });
  it('is never before the window, even with a longer overlap', () => {
    expect(start({ windowMs: 2 * MINUTE })).toBe(NOW - 2 * MINUTE);
  });
  it('is the start of the window when the last read ended before it', () => {
    expect(start({ known: [{ fromMs: 0, toMs: NOW - 2 * WINDOW }] })).toBe(NOW - WINDOW);
  });
  it('is the start of a window that a changed rule made longer, once', () => {
    const short = [{ fromMs: NOW - 10 * MINUTE, toMs: NOW - MINUTE }];
    expect(start({ known: short, triedMs: 10 * MINUTE })).toBe(NOW - WINDOW);
    expect(start({ known: short, triedMs: WINDOW })).toBe(NOW - MINUTE - EVENT_PULL_DEFAULT.overlapMs);
  });
  it('is the start of the window when the clock went back behind the last read', () => {
    expect(start({ known: [{ fromMs: 0, toMs: NOW + WINDOW }] })).toBe(NOW - WINDOW);
  });
});

describe('what is read', () => {
  it('includes an event exactly at the bound, and none before it', async () => {
    const { events } = await pullEvents(
      optionsOf(scriptedLog([OLD, at('bound', NOW - WINDOW), at('before', NOW - WINDOW - 1)])),
    );
    expect(events.map(({ id }) => id)).toEqual(['bound']);
  });

  it('has each of 2,500 events over three pages once, although the inclusive bound repeats the last of a page', async () => {
    const api = scriptedLog([OLD, ...many(2_500, (index) => NOW - WINDOW + index)]);
    const { events, reading } = await pullEvents(optionsOf(api));
    expect(new Set(events.map(({ id }) => id)).size).toBe(2_500);
    expect(events).toHaveLength(2_500);
    expect(reading).toMatchObject({ count: 2_500, trusted: true, state: 'read' });
  });

  it.each([
    ['exactly a page', 1_000],
    ['more than a page', 1_500],
    ['more than three pages', 3_200],
  ])('loses none of %s of events in one millisecond', async (_, count) => {
    const log = [OLD, ...many(3, (index) => NOW - 5_000 + index, 'a'), ...many(count, () => NOW - 1_000, 'b')];
    const { events } = await pullEvents(optionsOf(scriptedLog([...log, at('last', NOW - 10)])));
    expect(events).toHaveLength(count + 4);
    expect(events.at(-1)?.id).toBe('last');
  });

  it('loses none of 1,500 events in the first millisecond of a window', async () => {
    const log = [OLD, ...many(1_500, () => NOW - 1_000), at('last', NOW - 10)];
    expect((await pullEvents(optionsOf(scriptedLog(log)))).events).toHaveLength(1_501);
  });

  it('is complete from a server that returns 100 at a time, even within one millisecond', async () => {
    const log = [OLD, ...many(250, () => NOW - 1_000, 'same'), ...many(250, (index) => NOW - 900 + index, 'next')];
    const { events } = await pullEvents(optionsOf(scriptedLog(log, { pageMax: 100 })));
    expect(events).toHaveLength(500);
  });

  it('is complete from a server that ignores `after`, without events that are too old', async () => {
    const log = [...many(1_500, (index) => NOW - 3 * WINDOW + index, 'old'), ...many(20, (index) => NOW - 500 + index)];
    const { events } = await pullEvents(optionsOf(scriptedLog(log, { ignores: 'after' })));
    expect(events).toHaveLength(20);
  });

  it('ends on a server that ignores `skip`', async () => {
    const api = scriptedLog([OLD, ...many(5, () => NOW - 500)], { ignores: 'skip' });
    expect((await pullEvents(optionsOf(api))).events).toHaveLength(5);
    expect(api.asked.length).toBeLessThan(10);
  });

  it('counts an event with a repeated id once', async () => {
    const twice = [at('same', NOW - 400), at('same', NOW - 300), OLD];
    expect((await pullEvents(optionsOf(scriptedLog(twice)))).events).toHaveLength(1);
  });

  it('includes an event written late, within the overlap', async () => {
    const known = [{ fromMs: NOW - 2 * WINDOW, toMs: NOW - MINUTE }];
    const late = at('late', NOW - 3 * MINUTE);
    const { events } = await pullEvents(optionsOf(scriptedLog([OLD, late]), { known }));
    expect(events.map(({ id }) => id)).toEqual(['late']);
  });

  it('of which a server gives more than was asked for ends at the same number', async () => {
    let pages = 0;
    const events = async () => many(5_000, (index) => NOW - WINDOW + pages * 5_000 + index, `page-${++pages}`);
    const settings = { ...EVENT_PULL_DEFAULT, pagesMax: 8 };
    const { reading } = await pullEvents(optionsOf(scriptedApi({ events, countEvents: async () => 1 }), { settings }));
    expect(reading.reasons[0]?.text).toContain('more than 8000 events');
    expect(pages).toBe(2);
  });

  it('ends at two hundred pages, and nothing counts as known', async () => {
    const settings = { ...EVENT_PULL_DEFAULT, pagesMax: 2 };
    const log = many(3_000, (index) => NOW - WINDOW + index);
    const { reading, coverage } = await pullEvents(optionsOf(scriptedLog(log), { settings }));
    expect(coverage).toBeUndefined();
    expect(reading).toMatchObject({ state: 'failed', trusted: false, reasons: [{ code: 'incomplete' }] });
    expect(reading.reasons[0]?.text).toContain('more than 2000 events');
  });
});

describe('events that cannot be read', () => {
  it('are named, once each, and up to 1 % of them are tolerated', async () => {
    const log = [OLD, ...many(199, (index) => NOW - WINDOW + index), at('odd', 'yesterday'), { created_at: NOW - 1 }];
    const { events, reading } = await pullEvents(optionsOf(scriptedLog(log)));
    expect(events).toHaveLength(199);
    expect(reading.unreadable).toEqual({
      count: 2,
      examples: ['id is missing or not text', 'created_at is not a number of milliseconds (event odd)'],
    });
    expect(reading.trusted).toBe(true);
  });

  it('make the log untrusted above 1 %', async () => {
    const log = [OLD, ...many(100, (index) => NOW - WINDOW + index), at('odd-1', null), at('odd-2', {})];
    const { reading } = await pullEvents(optionsOf(scriptedLog(log)));
    expect(reading).toMatchObject({ trusted: false, reasons: [{ code: 'unreadable_records' }] });
  });
});

describe('what is known afterwards', () => {
  const coverageOf = async (api: EventPullOptions['api'], more: Partial<EventPullOptions> = {}) =>
    (await pullEvents(optionsOf(api, more))).coverage;

  it('is the whole window when the log reaches back behind it', async () => {
    expect(await coverageOf(scriptedLog([OLD]))).toEqual({ fromMs: NOW - WINDOW, toMs: NOW });
  });
  it('is the whole window when the log is young and nothing was cut off', async () => {
    expect(await coverageOf(scriptedLog([at('first', NOW - 5)]))).toEqual({ fromMs: NOW - WINDOW, toMs: NOW });
    expect(await coverageOf(scriptedLog([]))).toEqual({ fromMs: NOW - WINDOW, toMs: NOW });
  });
  it('begins at the oldest event when 10,000 are kept and it is younger than the window', async () => {
    const api = scriptedLog([at('oldest', NOW - 5_000), at('newest', NOW - 10)], { count: 10_001 });
    expect(await coverageOf(api)).toEqual({ fromMs: NOW - 5_000, toMs: NOW });
  });
  it('is at most two weeks, whatever the window', async () => {
    const coverage = await coverageOf(scriptedLog([at('young', NOW - 5)]), { windowMs: 30 * 24 * WINDOW });
    expect(coverage).toEqual({ fromMs: NOW - EVENT_PULL_DEFAULT.retainedMs, toMs: NOW });
  });
});

describe('a log that is not reliable', () => {
  const failing = (error: AppError) => optionsOf(scriptedApi({ events: () => Promise.reject(error) }));

  it('in descending order is not used, and nothing counts as known', async () => {
    const { reading, events, coverage } = await pullEvents(
      optionsOf(
        scriptedLog(
          many(5, (index) => NOW - 500 + index),
          { ignores: 'order' },
        ),
      ),
    );
    expect({ events, coverage }).toEqual({ events: [], coverage: undefined });
    expect(reading).toMatchObject({ trusted: false, reasons: [{ code: 'shifted' }] });
  });
  it('with status 403 is an edition without events', async () => {
    const { reading } = await pullEvents(failing(new AppError('api_forbidden', 'not in this edition')));
    expect(reading).toMatchObject({ state: 'unavailable', trusted: false, reasons: [{ code: 'unavailable' }] });
  });
  it('with a broken answer is a failed source, with the API’s message', async () => {
    const { reading } = await pullEvents(failing(new AppError('api_answer', 'the answer is not JSON')));
    expect(reading.reasons).toEqual([{ source: 'events', code: 'incomplete', text: 'events: the answer is not JSON' }]);
    expect(reading.state).toBe('failed');
  });
  it.each(['api_refused', 'stopped'] as const)('`%s` ends the run', async (code) => {
    await expect(pullEvents(failing(new AppError(code, 'over')))).rejects.toMatchObject({ code });
  });
  it('with a clock difference over five minutes is not trusted', async () => {
    const api = Object.assign(scriptedLog([OLD]), { skewMs: () => -301_000 });
    expect((await pullEvents(optionsOf(api))).reading.reasons[0]).toMatchObject({ code: 'clock_skew' });
  });
});
