// http: how often one token may ask, and how often one address may fail to sign in. In: the caller, or the address of a stranger. Out:
// nothing, or 429 with the time to wait. A stop is never refused. It keeps a number for each, of a bounded count of them.
import type { Clock } from '../domain/ports.ts';
import { baseOf } from './mount.ts';
import { Problem } from './problem.ts';
import type { Ctx } from './route.ts';

/** Requests of one token in a minute. */
export interface RateLimits {
  reads: number;
  writes: number;
}

/** Of the time of a minute, what may come at once. */
const BURST = 1 / 6;
/** Wrong or missing tokens from one address. A scraper whose token was revoked is still told so. */
const FAILURES_PER_MINUTE = 120;
const KEPT_MAX = 10_000;

const STOPS = new Set(['/api/stop', '/stop']);

export class RateLimit {
  private readonly reads: Buckets;
  private readonly writes: Buckets;
  private readonly failures: Buckets;

  /** @param limits undefined: there are none. */
  constructor(
    clock: Pick<Clock, 'monotonicMs'>,
    private readonly limits: RateLimits | undefined,
  ) {
    this.reads = new Buckets(clock, limits?.reads ?? 0);
    this.writes = new Buckets(clock, limits?.writes ?? 0);
    this.failures = new Buckets(clock, FAILURES_PER_MINUTE);
  }

  /** Errors: Problem 429. */
  demand(context: Ctx): void {
    const { caller } = context.var;
    if (!this.limits || !caller || isStop(context)) return;
    const isRead = context.req.method === 'GET' || context.req.method === 'HEAD';
    // A right that comes from no token is that of a name in its organization.
    const key = caller.token ?? `${baseOf(context)} ${caller.name}`;
    const waitMs = (isRead ? this.reads : this.writes).take(key);
    if (waitMs === 0) return;
    const [perMinute, what] = isRead ? [this.limits.reads, 'reads'] : [this.limits.writes, 'writes'];
    throw tooOften(`a token may send ${perMinute} ${what} in a minute`, waitMs);
  }

  /**
   * Counts a request without a good token. A good one from the same address is never asked here: a proxy has one address for all. Errors:
   * Problem 429.
   */
  countFailure(context: Ctx): void {
    if (!this.limits) return;
    const waitMs = this.failures.take(networkOf(context.env?.incoming?.socket?.remoteAddress ?? ''));
    if (waitMs > 0) throw tooOften('this address sent too many requests without a valid token', waitMs);
  }
}

function isStop({ req }: Ctx): boolean {
  return req.method === 'POST' && STOPS.has(req.path);
}

/** Who has one IPv6 address has the 2^64 of its network. */
function networkOf(address: string): string {
  return address.includes(':') && !address.includes('.') ? address.split(':').slice(0, 4).join(':') : address;
}

function tooOften(what: string, waitMs: number): Problem {
  const seconds = Math.ceil(waitMs / 1_000);
  return new Problem(429, 'too-many-requests', 'Too many requests', `${what}: ask again in ${seconds} s`, {
    headers: { 'Retry-After': String(seconds) },
  });
}

/** Token buckets: each fills steadily up to its burst, and a request takes one. */
class Buckets {
  private readonly levels = new Map<string, { level: number; atMs: number }>();
  private readonly burst: number;

  constructor(
    private readonly clock: Pick<Clock, 'monotonicMs'>,
    private readonly perMinute: number,
  ) {
    this.burst = Math.max(1, Math.round(perMinute * BURST));
  }

  /** The time until there is one again, ms; 0: it was taken. */
  take(key: string): number {
    const nowMs = this.clock.monotonicMs();
    const { level, atMs } = this.levels.get(key) ?? { level: this.burst, atMs: nowMs };
    const filled = Math.min(this.burst, level + ((nowMs - atMs) * this.perMinute) / 60_000);
    const isThere = filled >= 1;
    // The last one used is the last of the map: the first is forgotten when there are too many.
    this.levels.delete(key);
    this.levels.set(key, { level: isThere ? filled - 1 : filled, atMs: nowMs });
    const [oldest] = this.levels.keys();
    if (this.levels.size > KEPT_MAX && oldest !== undefined) this.levels.delete(oldest);
    return isThere ? 0 : Math.ceil(((1 - filled) * 60_000) / this.perMinute);
  }
}
