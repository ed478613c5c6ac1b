// test: what `/readyz` shows of the schedule.
import { expect, it } from 'vitest';
import { scheduleCheck } from '../../../src/runtime/daemon/readiness.ts';
import { newCounters } from '../../../src/runtime/schedule/run-queue.ts';

const counters = (schedule: object) => {
  const all = newCounters(Date.UTC(2026, 10, 22));
  Object.assign(all.lanes.schedule, schedule);
  return all;
};

it('a scheduled time that was refused makes the daemon not ready, until one is accepted again', () => {
  const refusal = { at: Date.UTC(2026, 10, 22, 0, 5), reason: '1 scheduled runs are already waiting' };
  const counted = { accepted: 7, joined: 2, refused: 3, waitMsMax: 1_250 };
  expect(scheduleCheck(counters({ ...counted, refusal }))).toEqual({
    name: 'schedule',
    ok: false,
    text: 'the last scheduled time, 2026-11-22 00:05:00 UTC, was refused (1 scheduled runs are already waiting); 10 scheduled times since 2026-11-22 00:00:00 UTC; 2 came while a run waited and became that run; 3 refused; longest wait 1.3 s',
  });
  expect(scheduleCheck(counters({ ...counted, accepted: 8 }))).toEqual({
    name: 'schedule',
    ok: true,
    text: '11 scheduled times since 2026-11-22 00:00:00 UTC; 2 came while a run waited and became that run; 3 refused; longest wait 1.3 s',
  });
});

it('no count of what others asked for is public', () => {
  const all = counters({ accepted: 1 });
  all.lanes.request.refusal = { at: 0, reason: '5 requested runs of the token `ana@example.com` wait' };
  expect(scheduleCheck(all)).toMatchObject({ ok: true, text: expect.not.stringContaining('ana') });
});
