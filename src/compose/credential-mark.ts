// A mark that shows whether the credential has changed since the server refused it. In: the configured credential. Out: four hex digits
// to store. They are too few to tell whether a guess of the secret is right: one guess in 65,536 fits.
import { createHmac } from 'node:crypto';
import type { Config } from '../config/config.ts';

/** Undefined for the embedded console. */
export function credentialMark(api: Config['api']): string | undefined {
  if (api === undefined) return undefined;
  const { url, credential, adminToken = '' } = api;
  const key = JSON.stringify([credential.kind, credential.secret, adminToken]);
  return createHmac('sha256', key).update(`credential of ${url}`).digest('hex').slice(0, 4);
}
