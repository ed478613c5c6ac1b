// support: the endpoint with its pages, and a real identity provider where persons sign in to it.
import { entryBody } from '../../src/domain/audit-entry.ts';
import { createPages } from '../../src/faces/web/index.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { openEndpoint } from './endpoint.ts';
import { openStore } from './filled-store.ts';
import { openIdentityProvider, Visitor } from './identity-provider.ts';

export const ORIGIN = 'http://127.0.0.1:8080';

/** The time of the provider, and as much more as a test lets pass. */
export function movedClock() {
  let aheadMs = 0;
  return {
    nowMs: () => systemClock.nowMs() + aheadMs,
    monotonicMs: () => systemClock.monotonicMs() + aheadMs,
    sleep: systemClock.sleep,
    advance: (ms: number) => {
      aheadMs += ms;
    },
  };
}

export async function openSigningIn(
  options: Parameters<typeof openIdentityProvider>[0] & { hasLinks?: boolean; file?: string } = {},
  over: Parameters<typeof openEndpoint>[0] = {},
) {
  const provider = await openIdentityProvider(options);
  const clock = movedClock();
  const store = openStore(clock, options.file);
  const parts = { clock, store, provider: provider.settings, hasLinks: options.hasLinks ?? true };
  const endpoint = openEndpoint({ clock, ...over }, createPages, parts);
  const request = async (path: string, init: RequestInit) => endpoint.app.request(path, init);
  provider.endsHere.send = (url, init) =>
    request(new URL(url).pathname, { ...init, headers: { ...init.headers, host: '127.0.0.1:8080' } });
  const visitor = () => new Visitor({ origin: options.base ?? ORIGIN, request });
  const signedIn = async (sub: string, to?: string) => {
    const person = visitor();
    const answer = await person.signIn(sub, to);
    if (answer.status !== 303) throw new Error(`signing in was answered with ${answer.status}: ${await answer.text()}`);
    return person;
  };
  const audited = async (kind: string) =>
    (await store.audit({ kind: kind as 'stop.set', limit: 50 })).map((entry) => entryBody(entry));
  return { ...endpoint, provider, clock, store, visitor, signedIn, audited };
}
