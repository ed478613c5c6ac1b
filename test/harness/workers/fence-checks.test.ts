// harness: the judgement of fences finds what it is for. In: two workers, one after the other, and a request that should not be.
import { describe, expect, it } from 'vitest';
import type { WriteRequest } from '../../../src/console/app.ts';
import { checkFences, type FencedRequests } from './fence-checks.ts';
import type { Fence, Sent } from './fence-log.ts';
import type { Pause } from './worker-lives.ts';

const fence = (number: number, pid: number, takenMs: number): Fence => ({
  ...{ org: 'acme', fence: number, pid, takenMs, waitMs: 0, firstCommitMs: takenMs },
});
const sent = (seq: number, by: number | undefined, committedMs: number, target = 'A'): Sent => ({
  ...{ org: 'acme', seq, fence: by, committedMs, intent: `intent-${seq}`, action: 'ban_device', target },
});
const write = (caller: string, receivedMs: number, target = 'A'): WriteRequest => ({
  ...{
    caller,
    receivedMs,
    atMs: receivedMs + 200,
    method: 'POST',
    body: '{"Banned":"TRUE"}',
    address: `/update_device?SerialNumber=${target}`,
  },
});

/** The first worker has fence 1 until 1,000 ms, the second one fence 2 from 2,000 ms. */
function judged(more: Partial<FencedRequests> = {}, pauses: Pause[] = []) {
  return checkFences({
    fences: [fence(1, 11, 0), fence(2, 22, 2_000)],
    sent: [sent(1, 1, 100), sent(2, 2, 2_100, 'B')],
    writes: [write('first', 110), write('second', 2_110, 'B')],
    callers: new Map([
      ['first', { pids: new Set([11]), pauses }],
      ['second', { pids: new Set([22]), pauses: [] }],
    ]),
    ...more,
  });
}

describe('the judgement of fences', () => {
  it('finds nothing in requests that each follow their commit, actor after actor', () => {
    expect(judged()).toEqual({ inWindow: 0, twoActors: 0, unaudited: 0, faults: [] });
  });
  it('finds a request of a former actor after the next one has sent, and one in the window apart from it', () => {
    const late = { writes: [write('second', 2_110, 'B'), write('first', 2_200)] };
    expect(judged(late)).toMatchObject({ inWindow: 0, twoActors: 1, unaudited: 0 });
    expect(judged(late, [{ fromMs: 105, toMs: 2_190 }])).toMatchObject({ inWindow: 1, twoActors: 0, faults: [] });
    expect(judged(late, [{ fromMs: 105, toMs: 500 }])).toMatchObject({ inWindow: 0, twoActors: 1 });
  });
  it.each<[string, Partial<FencedRequests>]>([
    ['before its commit', { writes: [write('first', 90)] }],
    ['twice for one commit', { writes: [write('first', 110), write('first', 120)] }],
    ['for the commit of another actor', { writes: [write('second', 2_110, 'A')] }],
    ['by nobody who ever acted', { writes: [write('third', 110)] }],
  ])('finds a request %s', (_, more) => {
    expect(judged(more)).toMatchObject({ unaudited: 1 });
  });
  it.each<[string, Sent[]]>([
    ['by a former fence', [sent(1, 2, 2_100, 'B'), sent(2, 1, 2_150)]],
    ['without a check of its fence', [sent(1, undefined, 100)]],
  ])('finds a commit %s', (_, all) => {
    expect(judged({ sent: all, writes: [] })).toMatchObject({ twoActors: 1 });
  });
});
