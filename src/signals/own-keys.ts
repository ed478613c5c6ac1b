// signals: the key that our own SETs are signed by, kept in the database, so that all processes of an organization have the same one. In: the kept keys.
// Out: the newest, and the public halves of those that receivers may still need. A new one is made when the newest is old.
import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import type { Clock } from '../domain/ports.ts';
import type { KeptKey, StreamStore } from '../domain/signal-stream.ts';
import { readSigningKey, type SigningKey } from './set.ts';

/** RS256 with 2048 bits is what receivers must take (CAEP Interoperability Profile 1.0). */
const BITS = 2_048;
const RENEWED_AFTER_MS = 90 * 86_400_000;

/** A private key as JWK. */
export async function newSigningKey(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: BITS });
  return JSON.stringify(privateKey.export({ format: 'jwk' }));
}

export class OwnKeys {
  private held: { of: string; key: SigningKey } | undefined;

  constructor(
    private readonly store: Pick<StreamStore, 'keys' | 'keepKeys'>,
    private readonly clock: Pick<Clock, 'nowMs'>,
    private readonly make: () => Promise<string> = newSigningKey,
  ) {}

  /** Errors: AppError `store_failed`. */
  async current(): Promise<SigningKey> {
    const { jwk } = (await this.kept()).at(-1) as KeptKey;
    if (this.held?.of !== jwk) this.held = { of: jwk, key: await readSigningKey(jwk) };
    return this.held.key;
  }

  /** The one before stays for 90 days more: what it signed may still wait, or be on its way. Errors: as of `current`. */
  async published(): Promise<object[]> {
    return publicHalves(await this.kept());
  }

  private async kept(): Promise<KeptKey[]> {
    const known = await this.store.keys();
    const newest = known.at(-1);
    const madeAt = this.clock.nowMs();
    if (newest && madeAt - newest.madeAt < RENEWED_AFTER_MS) return known;
    return this.store.keepKeys(known, [...known.slice(-1), { jwk: await this.make(), madeAt }]);
  }
}

/** For a JWKS. */
export function publicHalves(keys: readonly KeptKey[]): Promise<object[]> {
  return Promise.all(keys.map(async ({ jwk }) => (await readSigningKey(jwk)).publicKey));
}
