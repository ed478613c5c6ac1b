// harness: judges requests after a refusal (401): the next run repeats it, and from then on twice as long passes each time, unless a
// person asks for it. In: a writing request, and those before it for the same intent. Out: violations.
import type { Checker } from './checker.ts';
import type { IntentLife } from './ledger.ts';
import type { PlatformRequest } from './platform.ts';
import { LATENCY_MAX_MS } from './profile.ts';

const MINUTE_MS = 60_000;

export function checkRefused(
  checker: Checker,
  { atMs }: PlatformRequest,
  { id, settled, allowed }: IntentLife,
  before: readonly PlatformRequest[],
): void {
  const last = before.at(-1);
  const { name } = checker.operation ?? {};
  if (!last || (name !== 'run' && name !== 'look' && name !== 'check')) return;
  const isKnown = (request: PlatformRequest, untilMs: number) =>
    settled.some((one) => one.outcome === 'failed' && one.atMs >= request.atMs && one.atMs <= untilMs);
  // Another answer or a person's retry ends the row.
  const retriedMs = allowed.at(-1) ?? 0;
  const others = before.findLastIndex((request) => request.fate !== 'unauthorized' || request.atMs <= retriedMs);
  const inARow = before.slice(others + 1).filter((request, at, all) => isKnown(request, all[at + 1]?.atMs ?? atMs));
  // A person wants it sent now; and across a jump of the clock nobody knows how long it was.
  const isExcused = [...allowed, ...checker.clock.jumps].some((sinceMs) => sinceMs >= last.atMs);
  if (inARow.length < 2 || isExcused) return;
  const pauseMs = Math.min(60, 2 ** (inARow.length - 2)) * MINUTE_MS;
  if (atMs - last.atMs < pauseMs - LATENCY_MAX_MS)
    checker.report(
      'retried_early',
      `intent ${id} is sent ${atMs - last.atMs} ms after refusal ${inARow.length} in a row`,
    );
}
