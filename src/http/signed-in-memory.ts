// http: links and sessions in the memory of one process, which alone knows them. In: hashes. Out: the port of domain/sign-in.ts. A restart signs
// everybody out. They are found by the hash of a secret of 256 bits: nobody can steer what a look takes.
import type { Clock } from '../domain/ports.ts';
import {
  type Caller,
  IDLE_MS,
  KEPT_MAX,
  type KeptSignIn,
  LASTS_MS,
  type SignInKind,
  type SignInStore,
} from '../domain/sign-in.ts';

interface Kept {
  kind: SignInKind;
  caller: Caller;
  made: Reading;
  used: Reading;
}

interface Reading {
  wallMs: number;
  steadyMs: number;
}

export class SignedInMemory implements SignInStore {
  /** By hash, the oldest first. */
  private readonly kept = new Map<string, Kept>();

  constructor(private readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>) {}

  async add(kind: SignInKind, hash: string, caller: Caller): Promise<void> {
    this.put(kind, hash, caller);
  }

  async find(kind: SignInKind, hashes: readonly string[]): Promise<KeptSignIn[]> {
    const now = this.now();
    return hashes.flatMap((hash) => {
      const one = this.one(kind, hash, now);
      return one ? [{ hash, caller: one.caller, unusedMs: sinceMs(one.used, now) }] : [];
    });
  }

  async redeem(link: string, session: string): Promise<Caller | undefined> {
    const one = this.one('link', link, this.now());
    if (!one) return undefined;
    this.kept.delete(link);
    this.put('session', session, one.caller);
    return one.caller;
  }

  async noteUse(session: string): Promise<void> {
    const now = this.now();
    const one = this.one('session', session, now);
    if (one) one.used = now;
  }

  async remove(session: string): Promise<void> {
    if (this.one('session', session, this.now())) this.kept.delete(session);
  }

  private put(kind: SignInKind, hash: string, caller: Caller): void {
    const now = this.now();
    const own: string[] = [];
    for (const [key, one] of this.kept) {
      if (isOver(one, now)) this.kept.delete(key);
      else if (one.kind === kind && one.caller.token === caller.token) own.push(key);
    }
    const [oldest] = own;
    if (own.length >= KEPT_MAX[kind] && oldest !== undefined) this.kept.delete(oldest);
    this.kept.set(hash, { kind, caller, made: now, used: now });
  }

  private one(kind: SignInKind, hash: string, now: Reading): Kept | undefined {
    const one = this.kept.get(hash);
    return one && one.kind === kind && !isOver(one, now) ? one : undefined;
  }

  private now(): Reading {
    return { wallMs: this.clock.nowMs(), steadyMs: this.clock.monotonicMs() };
  }
}

function isOver({ kind, made, used }: Kept, now: Reading): boolean {
  return sinceMs(made, now) >= LASTS_MS[kind] || sinceMs(used, now) >= IDLE_MS;
}

/** By the clock that shows more: one can be set back, and the other stands still while the machine sleeps. */
function sinceMs({ wallMs, steadyMs }: Reading, now: Reading): number {
  return Math.max(now.wallMs - wallMs, now.steadyMs - steadyMs);
}
