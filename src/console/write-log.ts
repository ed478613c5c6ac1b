// console: the admitted writing requests, newest last, for judging a client: a repeated request has no effect, but it
// has a line here. In: a request. Out: a bounded list in memory. It must never hold a credential.
import type { Clock } from '../domain/ports.ts';

export interface WriteRequest {
  /** When it was carried out: a fault may do that long after it was received. */
  atMs: number;
  receivedMs: number;
  method: string;
  /** Path and query. */
  address: string;
  body: string;
  caller: string;
}

export interface WriteLog {
  /** `receivedMs`: absent: now. */
  add(method: string, url: string, body: string, caller: string, receivedMs?: number): void;
  all(): readonly WriteRequest[];
}

const KEPT_MAX = 20_000;
const BODY_KEPT_MAX = 4_096;

export function keepWrites(clock: Clock): WriteLog {
  const kept: WriteRequest[] = [];
  return {
    add(method, url, body, caller, receivedMs) {
      const atMs = clock.nowMs();
      const { pathname, search } = new URL(url);
      kept.push({
        atMs,
        receivedMs: receivedMs ?? atMs,
        method,
        address: pathname + search,
        body: body.slice(0, BODY_KEPT_MAX),
        caller,
      });
      if (kept.length > KEPT_MAX) kept.splice(0, KEPT_MAX / 10);
    },
    all: () => kept,
  };
}
