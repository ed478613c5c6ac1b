// notify: where the heartbeat goes. In: configuration names. Out: a checked destination, or faults. The address often holds a secret in its
// path: nothing but its host is ever repeated.
import type { Destination } from './checked-request.ts';
import { allowedHosts, type Names, readText, urlOf } from './settings.ts';

interface HeartbeatNames extends Pick<Names, 'text' | 'fault'> {
  secret(name: string): string | undefined;
  choice<const T extends string>(name: string, choices: readonly T[], fallback: T): T;
}

const NAME = 'TRUSTWARD_HEARTBEAT_URL';
const CA = 'TRUSTWARD_HEARTBEAT_CA';
/** The receiver is asked for nothing: a slow one is not waited for. */
const TIMEOUT_MS = 10_000;

/** Undefined: none is sent. */
export function readHeartbeat(names: HeartbeatNames): Destination | undefined {
  const text = names.secret(NAME);
  const caFile = names.text(CA);
  const allowPrivate = names.choice('TRUSTWARD_HEARTBEAT_PRIVATE', ['yes', 'no'], 'no') === 'yes';
  const hosts = allowedHosts(names);
  if (text === undefined) return undefined;
  const fault = (why: string) => names.fault(NAME, `${NAME}: ${why}`) as undefined;
  const url = urlOf({ url: text, allowPrivate }, hosts, fault);
  const ca = caFile === undefined ? undefined : readText(caFile, CA, CA, names);
  return url && { url, timeoutMs: TIMEOUT_MS, allowPrivate, ca };
}
