// http: passkeys (WebAuthn) on pages: registering one, and asking for a touch. In: forms of a signed-in person. Out: what the browser asks its authenticator,
// and what it brought, checked for being brought here, in this session, once and soon. The one home of @simplewebauthn/server, loaded when somebody registers.
import { createPublicKey } from 'node:crypto';
import { isIP } from 'node:net';
import { z } from 'zod';
import { touchSchema } from '../../contract/operation.ts';
import { personOf } from '../../domain/actor.ts';
import { AppError } from '../../domain/errors.ts';
import {
  type FreshPasskey,
  isBase64url,
  type Passkey,
  passkeysOf,
  TOUCH_MAX,
  type TouchedFor,
  type TouchKind,
} from '../../domain/passkey.ts';
import { challengeOf } from '../../domain/touch.ts';
import type { HttpDeps } from './deps.ts';
import { type Ctx, json } from './route.ts';

type Deps = Pick<HttpDeps, 'passkeys' | 'signIn' | 'publicUrl' | 'clock'>;

interface Party {
  /** The host that an authenticator keeps keys for. */
  id: string;
  origin: string;
}

/** Where passkeys of these pages are good, or why there are none. */
export function partyOf({ publicUrl }: Pick<HttpDeps, 'publicUrl'>): Party | string {
  if (publicUrl === undefined) return 'TRUSTWARD_PUBLIC_URL is not set';
  const { hostname, protocol, origin } = new URL(publicUrl);
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0)
    return 'TRUSTWARD_PUBLIC_URL has an IP address, and browsers want a name';
  if (protocol === 'https:' || hostname === 'localhost') return { id: hostname, origin };
  return 'TRUSTWARD_PUBLIC_URL does not begin with https://';
}

/** Of the person who is signed in. */
export async function ownPasskeys({ passkeys, clock }: Deps, context: Ctx): Promise<Passkey[]> {
  const { name } = context.var.caller;
  return personOf(name) ? passkeysOf(await passkeys.all(), name, clock.nowMs()) : [];
}

function demandParty(deps: Deps): Party {
  const party = partyOf(deps);
  if (typeof party === 'object') return party;
  throw new AppError('usage', `there are no passkeys here: ${party}`);
}

const TIMEOUT_MS = 120_000;

function credentialsOf(keys: readonly Passkey[], { origin }: Party) {
  return keys.filter((one) => one.origin === origin).map(({ id }) => ({ type: 'public-key' as const, id }));
}

/** What the browser has its authenticator sign; `null` where the person has no passkey. */
export async function askTouch(
  deps: Deps,
  context: Ctx,
  kind: TouchKind,
  about: Omit<TouchedFor, 'by'>,
): Promise<Response> {
  const own = await ownPasskeys(deps, context);
  if (own.length === 0) return json(null);
  const party = demandParty(deps);
  const nonce = await deps.signIn.nonceFor(context.var.session ?? '');
  const challenge = challengeOf({ kind, nonce }, { ...about, by: context.var.caller.name });
  const allowCredentials = credentialsOf(own, party);
  const asked = { challenge, rpId: party.id, allowCredentials, userVerification: 'required', timeout: TIMEOUT_MS };
  return json({ kind, nonce, publicKey: asked });
}

/** Characters of what a browser brings. */
export const TOUCH_TEXT_MAX = 10_000;
export const REGISTRATION_TEXT_MAX = 20_000;

/** From now on the caller asks with what their passkey signed. Errors: AppError `usage`, `conflict` for what this session was not asked, or too long ago. */
export async function takeTouch({ signIn }: Deps, context: Ctx, text: string | undefined): Promise<void> {
  if (text === undefined) return;
  const touch = touchSchema.safeParse(jsonOf(text));
  if (!touch.success)
    throw new AppError('usage', "the passkey's answer cannot be read: nothing was done; answer once more");
  await demandAsked(signIn, context, touch.data.nonce);
  context.set('touch', touch.data);
}

async function demandAsked(signIn: Deps['signIn'], context: Ctx, nonce: string): Promise<void> {
  if (await signIn.takeNonce(context.var.session ?? '', nonce)) return;
  const why = 'was used before, is older than ten minutes, or was not asked for in this session';
  throw new AppError('conflict', `the passkey's answer ${why}: nothing was done; answer once more`);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// Registering.

const bytesText = z.string().refine((text) => isBase64url(text, REGISTRATION_TEXT_MAX));
const registration = z.object({
  id: z.string().refine((text) => isBase64url(text, TOUCH_MAX.passkey)),
  rawId: bytesText,
  type: z.literal('public-key'),
  response: z.object({ clientDataJSON: bytesText, attestationObject: bytesText }),
});

/** Errors: AppError `usage` where there are none, and for who has none when their sign-in is not of a moment ago. */
async function demandRegistering(deps: Deps, context: Ctx) {
  const party = demandParty(deps);
  const person = personOf(context.var.caller.name);
  if (!person) throw new AppError('usage', 'only persons whom the identity provider vouches for have passkeys');
  const own = await ownPasskeys(deps, context);
  if (own.length > 0 || (await deps.signIn.isRecent(context.var.session ?? ''))) return { party, person, own };
  const when = 'a first passkey needs a sign-in of the last ten minutes';
  throw new AppError('usage', `${when}: sign out, sign in again, and register it then`);
}

/** What the browser has an authenticator make. Errors: those of `demandRegistering`. */
export async function askRegistration(deps: Deps, context: Ctx): Promise<Response> {
  const { party, person, own } = await demandRegistering(deps, context);
  const { generateRegistrationOptions } = await import('@simplewebauthn/server');
  const nonce = await deps.signIn.nonceFor(context.var.session ?? '');
  const publicKey = await generateRegistrationOptions({
    ...{ rpName: 'Trustward', rpID: party.id, userName: person.email, timeout: TIMEOUT_MS },
    ...{ challenge: new Uint8Array(Buffer.from(nonce, 'base64url')), supportedAlgorithmIDs: ALGORITHMS },
    ...{ excludeCredentials: credentialsOf(own, party) },
    authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
  });
  return json({ nonce, publicKey });
}

/** The id of what was registered, before it is believed. Errors: AppError `usage`. */
export function registeredId(text: string): string {
  return readRegistration(text).id;
}

function readRegistration(text: string) {
  const read = registration.safeParse(jsonOf(text));
  if (read.success) return read.data;
  throw new AppError('usage', 'what the browser registered cannot be read: nothing was kept; register it once more');
}

/** Errors: AppError `usage` for what is not of this page, or cannot be read; `conflict` for what this session was not asked. */
export async function registeredKey(
  deps: Deps,
  context: Ctx,
  { response: text, nonce }: { response: string; nonce: string },
): Promise<Omit<FreshPasskey, 'name'>> {
  const { party } = await demandRegistering(deps, context);
  const response = { ...readRegistration(text), clientExtensionResults: {} };
  await demandAsked(deps.signIn, context, nonce);
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
  const expected = { expectedChallenge: nonce, expectedOrigin: party.origin, expectedRPID: party.id };
  const more = { requireUserVerification: true, supportedAlgorithmIDs: ALGORITHMS };
  const { registrationInfo: found } = await verifyRegistrationResponse({ response, ...expected, ...more }).catch(
    () => ({ registrationInfo: undefined }),
  );
  const publicKey = found && (await spkiOf(found.credential.publicKey));
  if (!found || publicKey === undefined || found.credential.id !== response.id)
    throw new AppError(
      'usage',
      `what the browser registered is none of \`${party.origin}\`, was made for something else, or without asking who is there (a PIN, a finger, a face): nothing was kept`,
    );
  return { id: found.credential.id, publicKey, origin: party.origin, counter: found.credential.counter };
}

/** EdDSA, ES256, RS256. */
const ALGORITHMS = [-8, -7, -257];

/** Of a key in COSE; undefined for one of another algorithm. */
async function spkiOf(cose: Uint8Array<ArrayBuffer>): Promise<string | undefined> {
  const { decodeCredentialPublicKey } = await import('@simplewebauthn/server/helpers');
  const key = decodeCredentialPublicKey(cose) as unknown as ReadonlyMap<number, unknown>;
  const part = (label: number) => {
    const bytes = key.get(label);
    return bytes instanceof Uint8Array ? Buffer.from(bytes).toString('base64url') : '';
  };
  const jwk = {
    1: { kty: 'OKP', crv: 'Ed25519', x: part(-2) },
    2: { kty: 'EC', crv: 'P-256', x: part(-2), y: part(-3) },
    3: { kty: 'RSA', n: part(-1), e: part(-2) },
  }[Number(key.get(1))];
  try {
    const made = jwk && createPublicKey({ key: jwk, format: 'jwk' });
    return made?.export({ type: 'spki', format: 'der' }).toString('base64url');
  } catch {
    return undefined;
  }
}
