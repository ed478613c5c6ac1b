// test: what a replay keeps of the event log for rule sets that come later is what the store keeps.
import { describe, expect, it } from 'vitest';
import type { TrustEvent } from '../../../src/domain/event.ts';
import { RecentEvents } from '../../../src/history/replay/as-it-was.ts';

const HOUR_MS = 3_600_000;

function eventAt(id: string, createdAtMs: number): TrustEvent {
  const of = { deviceId: 'd1', serialNumber: 'S1', email: undefined, serviceId: undefined, serviceName: undefined };
  const what = { type: 'Access', subType: '', action: '', severity: 'ERROR', result: '', body: {} };
  return { id, createdAtMs, ...of, ...what };
}

describe('events that a longer window may count later', () => {
  it('the newest one stays, since the store never removes it and it is not recorded again', () => {
    const events = new RecentEvents();
    events.add([eventAt('older', 1 * HOUR_MS), eventAt('newest', 2 * HOUR_MS)]);
    events.forget([{ fromMs: 20 * HOUR_MS, toMs: 30 * HOUR_MS }]);
    expect(events.all.map(({ id }) => id)).toEqual(['newest']);
  });
});
