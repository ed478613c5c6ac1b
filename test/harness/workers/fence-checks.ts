// harness: every request that a console got, against the fence by which it was allowed. In: the requests of one organization, its leases, what was
// committed as sent, who was which process. Out: counts, and what is wrong in words.
import type { WriteRequest } from '../../../src/console/app.ts';
import type { Fence, Sent } from './fence-log.ts';
import type { Pause } from './worker-lives.ts';

export interface FenceFigures {
  /** Requests by a fence that was over, written by a worker that had just been paused: the documented window. */
  inWindow: number;
  /** Requests or commits by a fence that was over, by any other. */
  twoActors: number;
  unaudited: number;
  faults: string[];
}

export interface FencedRequests {
  writes: readonly WriteRequest[];
  /** By the name that consoles know: the processes of this name, and when they were paused. */
  callers: ReadonlyMap<string, { pids: ReadonlySet<number>; pauses: readonly Pause[] }>;
  fences: readonly Fence[];
  sent: readonly Sent[];
}

/** How long after a pause a request may still arrive that was past its comparison before it. */
const WINDOW_MS = 1_000;

export function checkFences(requests: FencedRequests): FenceFigures {
  const figures: FenceFigures = { inWindow: 0, twoActors: 0, unaudited: 0, faults: [] };
  checkCommits(requests, figures);
  checkRequests(requests, figures);
  return figures;
}

/** Each `intent.sent` was committed with a check of its fence, and never by an earlier fence than the one before it. */
function checkCommits({ sent }: FencedRequests, figures: FenceFigures): void {
  let last = 0;
  for (const { seq, fence = 0 } of sent) {
    if (fence === 0 || fence < last) {
      figures.twoActors += 1;
      figures.faults.push(`entry ${seq} was committed by fence ${fence || 'none'} after ${last}`);
    }
    last = Math.max(last, fence);
  }
}

/** As they came: a fault of the console may carry one out when the next fence acts. The n-th request of a fence for a target and state came after n commits by that fence that it is sent. */
function checkRequests(requests: FencedRequests, figures: FenceFigures): void {
  const { writes, sent } = requests;
  const firstSentMs = new Map<number, number>();
  for (const { fence = 0, committedMs } of sent) if (!firstSentMs.has(fence)) firstSentMs.set(fence, committedMs);
  const counts = new Map<string, number>();
  for (const request of writes.toSorted((one, other) => one.receivedMs - other.receivedMs)) {
    const fence = fenceOf(requests, request);
    const what = `${fence} ${whatIn(request)}`;
    checkOverFence(requests, request, fence, firstSentMs, figures);
    const count = (counts.get(what) ?? 0) + 1;
    counts.set(what, count);
    // The console's clock has whole milliseconds, and the commit's has microseconds.
    const before = sent.filter(
      (one) => `${one.fence} ${one.action} ${one.target}` === what && one.committedMs < request.receivedMs + 1,
    );
    if (before.length >= count) continue;
    figures.unaudited += 1;
    figures.faults.push(
      `request ${count} of fence ${what} by ${request.caller} came after ${before.length} commits of being sent`,
    );
  }
}

/** INVARIANT: once a later fence has committed that it sends, no request of an earlier one arrives. */
function checkOverFence(
  { callers }: FencedRequests,
  { caller, receivedMs: atMs }: WriteRequest,
  fence: number,
  firstSentMs: ReadonlyMap<number, number>,
  figures: FenceFigures,
): void {
  const later = [...firstSentMs].find(([other, sentMs]) => other > fence && sentMs <= atMs);
  if (!later) return;
  const wasPaused = callers.get(caller)?.pauses.some(({ toMs = 0 }) => atMs >= toMs && atMs <= toMs + WINDOW_MS);
  if (wasPaused) figures.inWindow += 1;
  else {
    figures.twoActors += 1;
    figures.faults.push(`a request of fence ${fence} by ${caller} arrived after fence ${later[0]} had sent`);
  }
}

function whatIn({ address, body }: WriteRequest): string {
  const target = /serialnumber=([^&]+)/i.exec(address)?.[1] ?? address;
  return `${body.includes('"Banned":"TRUE"') ? 'ban_device' : 'unban_device'} ${target}`;
}

/** The last one by which the process had begun to act by then; 0: none. */
function fenceOf({ fences, callers }: FencedRequests, { caller, receivedMs: atMs }: WriteRequest): number {
  const pids = callers.get(caller)?.pids;
  const own = fences.findLast(
    ({ pid, firstCommitMs = Number.POSITIVE_INFINITY }) => pids?.has(pid) && firstCommitMs < atMs + 1,
  );
  return own?.fence ?? 0;
}
