// Builds what receives signals: the receiver, the loops that poll and watch streams. In: a composition, and what is woken by new signals. Out: both. INVARIANT: only
// hosts of TRUSTWARD_SIGNAL_HOSTS are asked, through the network guard of webhooks, and secrets and keys are files of one folder, or variables named SIGNAL_….
import { AppError, lineOf } from '../../domain/errors.ts';
import { guardsOf } from '../../domain/guards.ts';
import type { SecretPlace } from '../../domain/secrets.ts';
import type { SignalReceiving, Transmitter } from '../../domain/signal.ts';
import { type Asked, Poller } from '../../signals/poller.ts';
import { Receiver } from '../../signals/receiver.ts';
import { textBelow } from '../../sources/read-file.ts';
import { askChecked } from '../notify/settings.ts';
import { newSecret } from '../system/ids.ts';
import type { Composition } from './compose.ts';

const JWKS_BYTES_MAX = 256 * 1024;
const ANSWER_BYTES_MAX = 8 * 1024 * 1024;
const TIMEOUT_MS = 15_000;
/** A long poll is answered when there is something, or when the transmitter thinks that it took long enough. */
const LONG_MS = 60_000;
/** A secret that was replaced counts after that. */
const SECRET_KEPT_MS = 5_000;

export interface Signals {
  receiving: SignalReceiving;
  poller: Poller;
}

export function composeSignals(
  { config, rules, store, engine, clock, log, ending }: Composition,
  arrived: () => void,
): Signals {
  const settings = config.signals;
  const transmitters = (): readonly Transmitter[] => guardsOf(rules.all())?.transmitters ?? [];
  const ask: Asked = async (address, { isLong = false, ...sent }) => {
    const url = new URL(address);
    if (url.protocol !== 'https:') throw new AppError('config', `\`${url.host}\` is not asked without TLS`);
    if (!isAmong(settings.hosts, url))
      throw new AppError(
        'config',
        `\`${url.host}\` is not among TRUSTWARD_SIGNAL_HOSTS: add it there, or correct signals.yaml`,
      );
    const allowPrivate = isAmong(settings.privateHosts, url);
    const destination = { url, timeoutMs: isLong ? LONG_MS : TIMEOUT_MS, allowPrivate, ca: settings.ca };
    const request = { ...sent, headers: { 'User-Agent': 'trustward', Accept: 'application/json', ...sent.headers } };
    try {
      return await askChecked(destination, request, ending.asked, { bytesMax: ANSWER_BYTES_MAX });
    } catch (error) {
      if (error instanceof AppError) throw error;
      throw new AppError('api_unreachable', `\`${url.host}\` does not answer: ${lineOf(error)}`, { cause: error });
    }
  };
  const secrets = new Map<string, { secret: string | undefined; atMs: number }>();
  const secretOf = async (place: SecretPlace): Promise<string | undefined> => {
    const key = JSON.stringify(place);
    const known = secrets.get(key);
    if (known && clock.monotonicMs() - known.atMs < SECRET_KEPT_MS) return known.secret;
    const secret =
      'env' in place
        ? settings.variable(place.env)
        : (await fileText(settings.folder, place.file))?.split('\n')[0]?.trim();
    secrets.set(key, { secret, atMs: clock.monotonicMs() });
    return secret;
  };
  const readKeys = async ({ name, issuer, jwks }: Transmitter): Promise<string> => {
    if (jwks && 'file' in jwks) {
      const text = await fileText(settings.folder, jwks.file);
      if (text !== undefined) return text;
      throw new AppError('config', `the keys of \`${name}\` cannot be read: \`${jwks.file}\` in TRUSTWARD_SIGNALS`);
    }
    const url = jwks ? jwks.url : (await poller.configurationOf(issuer)).jwks_uri;
    if (url === undefined) throw new AppError('api_answer', `the configuration document of \`${name}\` names no keys`);
    const { status, text } = await ask(url, { method: 'GET', headers: {} });
    if (status !== 200) throw new AppError('api_answer', `the keys of \`${name}\` are answered with status ${status}`);
    if (text.length > JWKS_BYTES_MAX) throw new AppError('api_answer', `the keys of \`${name}\` are too long`);
    return text;
  };
  const box = store.signalBox();
  const receiving = new Receiver({ transmitters, box, reader: engine.store, readKeys, secretOf, clock, log, arrived });
  const poller = new Poller({ transmitters, receiving, box, ask, secretOf, newState: newSecret, clock, log });
  return { receiving, poller };
}

function isAmong(hosts: readonly string[], { hostname, host }: URL): boolean {
  return hosts.includes(hostname) || hosts.includes(host);
}

/** Only a regular file below the folder: one that leads out of it or never ends is none. */
async function fileText(folder: string | undefined, file: string): Promise<string | undefined> {
  return folder === undefined ? undefined : textBelow(folder, file, JWKS_BYTES_MAX).catch(() => undefined);
}
