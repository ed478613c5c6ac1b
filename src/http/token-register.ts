// http: the tokens that are valid now. In: the token of the configuration, and the stored tokens as hashes. Out: a
// token's owner. It is asked at each request and answers from memory: a revoked token is unknown from that moment on.
import { type EndpointToken, hashOfToken, isGood, type TokenStore } from '../domain/endpoint-token.ts';
import { lineOf } from '../domain/errors.ts';
import type { Clock, Log } from '../domain/ports.ts';
import { type Caller, hashVerifier, type KnownToken } from './tokens.ts';

/** A use is recorded when the last recorded one is older than this: not one write per request. */
const USE_EVERY_MS = 60_000;

export class TokenRegister {
  private kept: EndpointToken[] = [];

  constructor(
    private readonly parts: {
      store: Pick<TokenStore, 'inUse' | 'noteUse'>;
      /** Tokens that are not in the store. */
      configured: KnownToken[];
      clock: Clock;
      log: Log;
    },
  ) {}

  /** INVARIANT: called at the start, and after each change of a token before that change is answered. */
  async load(): Promise<void> {
    this.kept = await this.parts.store.inUse();
  }

  /** Instead of those before: the next request counts with these alone. */
  configure(tokens: readonly KnownToken[]): void {
    this.parts.configured = [...tokens];
  }

  /** Undefined for an unknown or expired one. */
  verify(token: string): Caller | undefined {
    return this.verifyHash(hashOfToken(token));
  }

  /** The same for a token of which only the hash is known: 64 hex digits. */
  verifyHash(hash: string): Caller | undefined {
    const nowMs = this.parts.clock.nowMs();
    const good = this.kept.filter((each) => isGood(each, nowMs));
    const known = good.map(({ name, scope, hash }) => ({ name, scope, hash: Buffer.from(hash, 'hex') }));
    const caller = hashVerifier([...known, ...this.parts.configured])(hash);
    const used = caller && good.find(({ name }) => name === caller.name);
    if (used && nowMs - (used.usedAt ?? 0) >= USE_EVERY_MS) this.noteUse(used, nowMs);
    return caller;
  }

  /** The caller is valid whether or not the use can be recorded. */
  private noteUse(used: EndpointToken, nowMs: number): void {
    used.usedAt = nowMs;
    const failed = (error: unknown) =>
      this.parts.log.warn({}, `the use of a token could not be recorded: ${lineOf(error)}`);
    void this.parts.store.noteUse(used.id, nowMs).catch(failed);
  }
}
