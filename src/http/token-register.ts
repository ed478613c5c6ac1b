// http: the tokens that are good now. In: the token of the configuration, and those that the store keeps as hashes. Out: whose
// a token is. It is asked at each request and answers from memory: one that was revoked is unknown from that moment on.
import { type EndpointToken, isGood, type TokenStore } from '../domain/endpoint-token.ts';
import { lineOf } from '../domain/errors.ts';
import type { Clock, Log } from '../domain/ports.ts';
import { type Caller, type KnownToken, tokenVerifier } from './tokens.ts';

/** A use is written down when the last one that was is older than this: not a write per request. */
const USE_EVERY_MS = 60_000;

export class TokenRegister {
  private kept: EndpointToken[] = [];

  constructor(
    private readonly parts: {
      store: Pick<TokenStore, 'inUse' | 'noteUse'>;
      /** Those that are not in the store. */
      configured: readonly KnownToken[];
      clock: Clock;
      log: Log;
    },
  ) {}

  /** INVARIANT: called at the start, and after each change of a token before that is answered. */
  async load(): Promise<void> {
    this.kept = await this.parts.store.inUse();
  }

  /** Undefined for one that is not known, or is over. */
  verify(token: string): Caller | undefined {
    const nowMs = this.parts.clock.nowMs();
    const good = this.kept.filter((each) => isGood(each, nowMs));
    const known = good.map(({ name, scope, hash }) => ({ name, scope, hash: Buffer.from(hash, 'hex') }));
    const caller = tokenVerifier([...known, ...this.parts.configured])(token);
    const used = caller && good.find(({ name }) => name === caller.name);
    if (used && nowMs - (used.usedAt ?? 0) >= USE_EVERY_MS) this.noteUse(used, nowMs);
    return caller;
  }

  /** Whether the use can be written down or not, the caller is who it is. */
  private noteUse(used: EndpointToken, nowMs: number): void {
    used.usedAt = nowMs;
    const failed = (error: unknown) =>
      this.parts.log.warn({}, `the use of a token could not be written down: ${lineOf(error)}`);
    void this.parts.store.noteUse(used.id, nowMs).catch(failed);
  }
}
