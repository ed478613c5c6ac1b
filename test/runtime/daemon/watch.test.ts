// test: the looks at the event log between two runs: when they are made, what they start, and what the log and `/readyz` show of them.
import { describe, expect, it, onTestFinished } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import type { RestReason, Run, WatchLook, WatchRequest } from '../../../src/domain/run.ts';
import { Watch, watchCheck } from '../../../src/runtime/daemon/readiness.ts';
import { RunQueue } from '../../../src/runtime/schedule/run-queue.ts';
import { standingClock } from '../../support/event-client.ts';

const NOTHING: WatchLook = {
  result: 'nothing',
  events: 0,
  named: 0,
  read: 0,
  strangers: 0,
  unread: 0,
  run: undefined,
  reason: undefined,
};
const rest = (code: RestReason, text = 'why'): WatchLook => ({ ...NOTHING, result: 'rest', reason: { code, text } });
const WHOLE: WatchLook = { ...NOTHING, result: 'whole', reason: { code: 'many_subjects', text: '201 subjects' } };

/** A watch of ten seconds whose looks a test answers. */
function watching({ everyMs = 10_000, missed = 0 } = {}) {
  const clock = standingClock(Date.UTC(2026, 10, 22, 10));
  const queue = new RunQueue(clock);
  const log: string[] = [];
  const line = (level: string) => (_fields: object, message: string) => void log.push(`${level} ${message}`);
  const requests: Omit<WatchRequest, 'mode'>[] = [];
  const wholeRuns: number[] = [];
  const answers: (() => Promise<WatchLook>)[] = [];
  const ending = new AbortController();
  const watch = new Watch({
    everyMs,
    clock,
    log: { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') },
    queue,
    look: async (request) => {
      requests.push(request);
      return (answers.shift() ?? (async () => NOTHING))();
    },
    runWhole: async () => void wholeRuns.push(clock.nowMs()),
    missedSince: () => missed,
  });
  const ended = watch.untilEnding(ending.signal);
  const stop = () => {
    ending.abort();
    return ended;
  };
  onTestFinished(stop);
  return {
    clock,
    queue,
    log,
    requests,
    wholeRuns,
    watch,
    stop,
    answer: (...looks: WatchLook[]) => answers.push(...looks.map((look) => async () => look)),
    answerWith: (work: () => Promise<WatchLook>) => answers.push(work),
    check: () => watchCheck(watch.counters, (atMs) => watch.missedSince(atMs)),
    /** As many periods, each with its look. */
    periods: async (count: number) => {
      for (let at = 0; at < count; at += 1) await clock.advance(10_000);
    },
  };
}

describe('a look', () => {
  it('is made a period after the start, and then a period after the look before began', async () => {
    const { clock, requests, answerWith } = watching();
    const slow = Promise.withResolvers<WatchLook>();
    answerWith(() => slow.promise);
    await clock.advance(10_000);
    await clock.advance(4_000);
    slow.resolve(NOTHING);
    await clock.advance(0);
    await clock.advance(5_999);
    expect(requests).toHaveLength(1);
    await clock.advance(1);
    expect(requests).toHaveLength(2);
  });

  it('is made a quarter of a period after the end of a look that took longer than one', async () => {
    const { clock, requests, answerWith } = watching();
    const slow = Promise.withResolvers<WatchLook>();
    answerWith(() => slow.promise);
    await clock.advance(9_999);
    expect(requests).toHaveLength(0);
    await clock.advance(1);
    expect(requests).toHaveLength(1);
    await clock.advance(60_000);
    slow.resolve(NOTHING);
    await clock.advance(0);
    await clock.advance(2_499);
    expect(requests).toHaveLength(1);
    await clock.advance(1);
    expect(requests).toHaveLength(2);
  });

  it('is never made with a period of 0', async () => {
    const { clock, requests, check } = watching({ everyMs: 0 });
    await clock.advance(86_400_000);
    expect(requests).toHaveLength(0);
    expect(check()).toEqual({ name: 'watch', ok: true, text: 'off' });
  });

  it('waits for the run under way, and no second look waits behind it', async () => {
    const { clock, queue, requests } = watching();
    const run = Promise.withResolvers<void>();
    void queue.inTurn('schedule', undefined, () => run.promise);
    await clock.advance(10_000);
    await clock.advance(10_000);
    await clock.advance(10_000);
    expect(requests).toHaveLength(0);
    expect(queue.counters.lanes.watch).toMatchObject({ accepted: 1, refused: 0 });
    run.resolve();
    await clock.advance(0);
    expect(requests).toHaveLength(1);
  });

  it('is made no more when the process ends, and one under way is waited for', async () => {
    const { clock, requests, answerWith, stop } = watching();
    const slow = Promise.withResolvers<WatchLook>();
    answerWith(() => slow.promise);
    await clock.advance(10_000);
    const stopped = stop();
    slow.resolve(NOTHING);
    await stopped;
    await clock.advance(60_000);
    expect(requests).toHaveLength(1);
  });

  it('that breaks off is counted, logged once, and followed by the next', async () => {
    const { periods, answerWith, log, watch, check } = watching();
    for (let at = 0; at < 3; at += 1)
      answerWith(async () => {
        throw new AppError('api_refused', `token \u202e${at} is refused`);
      });
    await periods(3);
    expect(watch.counters).toMatchObject({ looks: 0, failed: 3, state: { kind: 'fails', code: 'api_refused' } });
    expect(log).toEqual(['error reading the event log failed: token ⟨U+202E⟩0 is refused; the next one tries again']);
    expect(check().text).toBe(
      'readings fail since 2026-11-22 10:00:10 UTC (api_refused; see the log); every 10s; not read yet; since 2026-11-22 10:00:00 UTC: 0 readings, 3 failed',
    );
    await periods(2);
    expect(log.slice(1)).toEqual(['info watch reads the event log again']);
    expect(watch.counters).toMatchObject({ looks: 2, failed: 3 });
  });
});

describe('a whole run that a look asks for', () => {
  it('is made at once, and once between two scheduled runs', async () => {
    const { answer, clock, periods, requests, watch, wholeRuns } = watching();
    answer(WHOLE);
    await periods(1);
    expect(wholeRuns).toEqual([clock.nowMs()]);
    await periods(2);
    watch.scheduledRunBegins();
    await periods(1);
    expect(requests.map(({ mayStartWhole }) => mayStartWhole)).toEqual([true, false, false, true]);
    expect(watch.counters).toMatchObject({ wholeRuns: 1, runs: 0 });
  });

  it('is the scheduled run that had its turn first', async () => {
    const { answerWith, periods, queue, requests, watch, wholeRuns } = watching();
    answerWith(async () => {
      void queue.inTurn('schedule', undefined, async () => watch.scheduledRunBegins());
      return WHOLE;
    });
    await periods(2);
    expect(wholeRuns).toEqual([]);
    expect(requests.map(({ mayStartWhole }) => mayStartWhole)).toEqual([true, true]);
  });
});

describe('the log', () => {
  it('has each change of state once, not each look', async () => {
    const { answer, periods, log } = watching();
    answer(
      NOTHING,
      rest('untrusted', 'users shrank'),
      rest('untrusted'),
      rest('runs_missed', 'two'),
      rest('runs_missed'),
    );
    await periods(8);
    expect(log).toEqual([
      'warn watch rests: users shrank',
      'warn watch rests: two',
      'info watch reads the event log again',
    ]);
  });

  it('has a fault that lasts over scheduled runs once, since it began', async () => {
    const { answer, periods, log, watch, check } = watching({ missed: 2 });
    const failing: WatchLook = { ...WHOLE, reason: { code: 'source_failed', text: 'the server answered 500' } };
    answer(failing, rest('source_failed', 'the server answered 500'));
    await periods(2);
    watch.scheduledRunBegins();
    answer(failing, rest('source_failed', 'the server answered 500'));
    await periods(1);
    expect(check()).toMatchObject({ ok: false, text: expect.stringMatching(/^rests since 2026-11-22 10:00:20 UTC/) });
    await periods(1);
    expect(check().text).toMatch(
      /^rests since 2026-11-22 10:00:20 UTC while each reading tries again: the event log, or a subject that it names, could not be read/,
    );
    expect(log).toEqual([
      'info watch asks for a whole run: the server answered 500',
      'warn watch rests: the server answered 500',
      'info watch asks for a whole run: the server answered 500',
    ]);
    await periods(1);
    expect(log.at(-1)).toBe('info watch reads the event log again');
  });

  it('has strangers once a day, however often events name them', async () => {
    const { answer, clock, periods, log, watch } = watching();
    const strange = { ...NOTHING, events: 5, named: 5, strangers: 5 };
    answer(strange, strange, NOTHING, strange);
    await periods(4);
    expect(log).toHaveLength(1);
    expect(watch.counters).toMatchObject({ events: 15, named: 15, strangers: 15 });
    await clock.advance(86_400_000);
    answer(strange);
    await periods(1);
    expect(log).toEqual(Array(2).fill(expect.stringMatching(/^warn new events name subjects that are not found/)));
  });
});

describe('/readyz', () => {
  it('shows what looks did, in counts', async () => {
    const { answer, periods, check } = watching();
    const run = { id: 'r', seq: 7, mode: 'enforce' } as Run;
    answer({ ...NOTHING, result: 'acted', events: 2_000, named: 3, read: 2, strangers: 1, run });
    await periods(2);
    expect(check()).toEqual({
      name: 'watch',
      ok: true,
      text: 'every 10s; last read 2026-11-22 10:00:20 UTC; since 2026-11-22 10:00:00 UTC: 2 readings, 2,000 new events, 3 subjects named, 1 not found, 1 run',
    });
  });

  it('counts events once, however many looks rest over them', async () => {
    const { answer, periods, watch } = watching();
    const flood = { events: 5_000, named: 300, strangers: 10, unread: 290 };
    const resting = { ...rest('many_subjects'), ...flood };
    answer({ ...WHOLE, ...flood }, resting, resting);
    await periods(3);
    expect(watch.counters).toMatchObject({ looks: 3, ...flood });
  });

  it.each<[RestReason, number, boolean]>([
    ['untrusted', 2, true],
    ['runs_missed', 1, true],
    ['runs_missed', 2, false],
    ['source_failed', 2, false],
    ['nothing_to_watch', 2, true],
    ['events_forbidden', 2, true],
  ])('is for the rest %s after %i scheduled times ok: %s', async (code, missed, ok) => {
    const { answer, periods, check } = watching({ missed });
    answer(rest(code, 'ana@example.com was named'));
    await periods(1);
    expect(check()).toMatchObject({ ok, text: expect.stringMatching(/^rests since 2026-11-22 10:00:10 UTC/) });
    expect(check().text).not.toContain('ana@');
  });
});
