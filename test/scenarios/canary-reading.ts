// scenarios: all that can be read of a daemon: answers of its endpoint, its pages, what it keeps, what it sends to others. In: addresses, folders.
// Out: notes of what stood where. It leaves nothing out but the secrets by which a receiver is found.
import type { Canaries } from '../support/canaries.ts';
import type { Received } from '../support/receiver.ts';
import { columnsOf, filesIn } from '../support/stored-bytes.ts';

const TIMEOUT_MS = 60_000;

export type Places = Map<string, string>;

/** Adds up what stands at each place. */
export function noting(places: Places): Note {
  return (place, text) => {
    const added = typeof text === 'string' ? text : Buffer.from(text).toString('latin1');
    places.set(place, `${places.get(place) ?? ''}${added}\n`);
  };
}

/** What stands at a place is added to what stood there. */
export type Note = (place: string, text: string | Uint8Array) => void;
export type Ask = (
  method: string,
  path: string,
  body?: object,
  headers?: Record<string, string>,
) => // biome-ignore lint/suspicious/noExplicitAny: the bodies of many routes
Promise<any>;

/** Asks the endpoint; the answer with its headers stands at its route. `refused`: routes whose answer was an error. */
export function asking(url: string, token: () => string, note: Note, refused: string[]): Ask {
  return async (method, path, body, headers = {}) => {
    const answer = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token()}`, 'content-type': 'application/json', ...headers },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await answer.text();
    if (answer.status >= 400) refused.push(`${method} ${path} ${answer.status}`);
    note(`${method} ${path.split('?')[0]}`, `${answer.status} ${headersOf(answer)}\n${text}`);
    return text.startsWith('{') ? JSON.parse(text) : text;
  };
}

export const headersOf = (answer: Response) => JSON.stringify([...answer.headers]);

/** Signs in as a person does, and follows every link of every page. */
export async function crawl(url: string, token: string, canaries: Canaries, note: Note): Promise<number> {
  const signedIn = await fetch(`${url}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { origin: url, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ token, to: '/' }),
  });
  const cookie = (signedIn.headers.get('set-cookie') ?? '').split(';')[0] as string;
  canaries.add('the session of a page', cookie.split('=')[1] as string);
  const seen = new Set(['/']);
  for (const path of seen) {
    const answer = await fetch(url + path, { headers: { cookie }, redirect: 'manual' });
    const html = await answer.text();
    note(`the page ${path.split('?')[0]}`, `${headersOf(answer)}\n${html}`);
    for (const [, link] of html.matchAll(/(?:href|src)="(\/[^"#]*)/g))
      if (seen.size < 150) seen.add((link as string).replaceAll('&amp;', '&'));
  }
  return seen.size;
}

/** All that is kept, in files and in tables. */
export function gather(data: string, database: string, note: Note, when: string): void {
  for (const [place, bytes] of filesIn(data)) note(`${place} ${when}`, bytes);
  for (const [place, text] of columnsOf(database)) note(`${place} ${when}`, text);
}

/** What receivers of messages were sent. `own`: the secrets in addresses, by which each is found. */
export function noteDeliveries(received: readonly Received[], own: readonly string[], note: Note): void {
  for (const { path, headers, body } of received) {
    note('the body of a delivery', body);
    note('the headers of a delivery', JSON.stringify(headers));
    note(
      'the address of a delivery',
      own.reduce((text, secret) => text.replaceAll(secret, ''), path),
    );
  }
}
