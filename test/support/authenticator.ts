// support: an authenticator of passkeys (ES256), as a browser has it behind `navigator.credentials`; a test can make it lie. In: what a page asks. Out: what the
// page sends in its form.
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest();

/** The few forms of CBOR that a registration has: nothing longer than 255 bytes. */
function cbor(value: unknown): Buffer {
  const head = (major: number, size: number) => Buffer.from(size < 24 ? [major * 32 + size] : [major * 32 + 24, size]);
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  if (typeof value === 'string') return Buffer.concat([head(3, value.length), Buffer.from(value)]);
  const pairs = [...(value as Map<unknown, unknown>)];
  return Buffer.concat([head(5, pairs.length), ...pairs.flatMap(([key, one]) => [cbor(key), cbor(one)])]);
}

/** Instead of what an honest one says. */
interface Lies {
  origin?: string;
  rpId?: string;
  challenge?: string;
  type?: string;
  /** Bits: 1 somebody is there, 4 it asked who. */
  flags?: number;
  counter?: number;
  signer?: Authenticator;
  crossOrigin?: boolean;
}

interface Asked {
  nonce: string;
  kind?: string;
  publicKey: { challenge: string };
}

export class Authenticator {
  readonly id = randomBytes(16);
  private readonly keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  counter = 0;

  constructor(private readonly origin: string) {}

  private authenticatorData({ rpId = new URL(this.origin).hostname, flags = 5, counter = this.counter }: Lies) {
    const head = Buffer.alloc(5);
    head[0] = flags;
    head.writeUInt32BE(counter, 1);
    return Buffer.concat([sha256(rpId), head]);
  }

  private clientData(type: string, asked: Asked, lies: Lies): Buffer {
    const { origin = this.origin, challenge = asked.publicKey.challenge, crossOrigin = false } = lies;
    return Buffer.from(JSON.stringify({ type: lies.type ?? type, challenge, origin, crossOrigin }));
  }

  /** As Trustward keeps the key. */
  get spki(): string {
    return this.keys.publicKey.export({ type: 'spki', format: 'der' }).toString('base64url');
  }

  /** The fields of the form that registers it. */
  register(asked: Asked, lies: Lies = {}) {
    const { x = '', y = '' } = this.keys.publicKey.export({ format: 'jwk' });
    const coordinates = [x, y].map((one) => Buffer.from(one, 'base64url'));
    const key = new Map<number, unknown>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, coordinates[0]],
      [-3, coordinates[1]],
    ]);
    const length = Buffer.from([0, this.id.length]);
    const known = Buffer.concat([Buffer.alloc(16), length, this.id, cbor(key)]);
    const authData = Buffer.concat([this.authenticatorData({ ...lies, flags: lies.flags ?? 0x45 }), known]);
    const attestation = cbor(
      new Map<string, unknown>([
        ['fmt', 'none'],
        ['attStmt', new Map()],
        ['authData', authData],
      ]),
    );
    const id = this.id.toString('base64url');
    const response = {
      clientDataJSON: this.clientData('webauthn.create', asked, lies).toString('base64url'),
      attestationObject: attestation.toString('base64url'),
    };
    return { nonce: asked.nonce, response: JSON.stringify({ id, rawId: id, type: 'public-key', response }) };
  }

  /** The field `touch`. */
  touch(asked: Asked, lies: Lies = {}): string {
    this.counter += 1;
    const clientData = this.clientData('webauthn.get', asked, lies);
    const authenticatorData = this.authenticatorData(lies);
    const signed = Buffer.concat([authenticatorData, sha256(clientData)]);
    const text = (bytes: Buffer) => bytes.toString('base64url');
    return JSON.stringify({
      ...{ kind: asked.kind, nonce: asked.nonce, passkey: text(this.id) },
      authenticatorData: text(authenticatorData),
      clientDataJSON: text(clientData),
      signature: text(sign('sha256', signed, (lies.signer ?? this).keys.privateKey)),
    });
  }
}
