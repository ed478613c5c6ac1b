// support: the page over a real store, as a browser without JavaScript asks for it: with a session's cookie, and our own origin on forms.
// In: the ports that differ. Out: answers, and their text as a person reads it.

import type { Scope } from '../../src/domain/endpoint-token.ts';
import { createPages } from '../../src/faces/web/index.ts';
import { type Endpoint, type Over, openEndpoint, TOKENS } from './endpoint.ts';

const ORIGIN = 'http://127.0.0.1:8080';

export interface OpenedPages extends Endpoint {
  /** `none`: nobody is signed in. */
  get(path: string, as?: Scope | 'none'): Promise<PageAnswer>;
  /** Sends a form; a list is a field that is sent many times. */
  post(path: string, fields?: Record<string, string | readonly string[]>, as?: Scope | 'none'): Promise<PageAnswer>;
}

export interface PageAnswer {
  status: number;
  headers: Headers;
  html: string;
  /** What a person reads, on one line: no tags, scripts, or markup of entities. */
  text: string;
}

export function openPages(over: Over = {}): OpenedPages {
  const endpoint = openEndpoint(over, createPages);
  const cookieOf = async (as: Scope | 'none'): Promise<Record<string, string>> => {
    if (as === 'none') return {};
    const signedIn = await endpoint.signIn.withToken(TOKENS[as]);
    if (!signedIn) throw new Error(`the token of scope ${as} is not good`);
    return { cookie: endpoint.signIn.cookie(signedIn).split(';')[0] as string };
  };
  const answerOf = async (answer: Response | Promise<Response>): Promise<PageAnswer> => {
    const { status, headers } = await answer;
    const html = await (await answer).text();
    return { status, headers, html, text: textOf(html) };
  };
  return {
    ...endpoint,
    get: async (path, as = 'admin') =>
      answerOf(endpoint.app.request(path, { headers: { host: '127.0.0.1:8080', ...(await cookieOf(as)) } })),
    post: async (path, fields = {}, as = 'admin') => {
      const pairs = Object.entries(fields).flatMap(([name, value]) =>
        (typeof value === 'string' ? [value] : value).map((one): [string, string] => [name, one]),
      );
      const headers = {
        host: '127.0.0.1:8080',
        origin: ORIGIN,
        'content-type': 'application/x-www-form-urlencoded',
        ...(await cookieOf(as)),
      };
      return answerOf(
        endpoint.app.request(path, { method: 'POST', headers, body: new URLSearchParams(pairs).toString() }),
      );
    },
  };
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

export function textOf(html: string): string {
  return html
    .replace(/<(script|style)\b[\s\S]*?<\/\1>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&(#?\w+);/g, (whole, name: string) => ENTITIES[name] ?? whole)
    .replace(/\s+/g, ' ')
    .trim();
}
