// sources: an address → rows, page by page. In: an origin, its credential, the hosts that may be asked. Out: the rows, or that they are as they were.
// INVARIANT: only addresses that were checked are connected to, no redirect is followed, and no page of another host is asked for, so that the
// credential goes where it was meant to go.
import { createHash } from 'node:crypto';
import type { LookupAddress } from 'node:dns';
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { createGunzip } from 'node:zlib';
import { type Fact, isFacts, own, ownText } from '../domain/facts.ts';
import type { GivenOrigin, GivenPages } from '../domain/given-facts.ts';
import {
  BYTES_MAX,
  joined,
  memberOf,
  parsed,
  type Read,
  type RowSink,
  readLines,
  rowsIn,
  textOf,
  unusable,
} from './rows.ts';

const PAGES_MAX = 10_000;
const TOKEN_BYTES_MAX = 100_000;

export interface Network {
  /** The only hosts that are asked. */
  hosts: readonly string[];
  /** Those of them that may have private addresses, and be asked without TLS. */
  privateHosts: readonly string[];
  addressesOf(host: string, allowPrivate: boolean): Promise<LookupAddress[]>;
  /** Certificate authorities beside those that are known, as PEM. */
  ca: string | undefined;
}

type HttpOrigin = GivenOrigin & { by: 'http' };
type Headers = Record<string, string>;

/** `secret`: of `auth`, read just now. */
export async function readHttp(
  origin: HttpOrigin,
  {
    network,
    secret,
    mark,
    nowMs,
    signal,
  }: { network: Network; secret: string | undefined; mark: string | undefined; nowMs: number; signal: AbortSignal },
  sink: RowSink,
): Promise<Read> {
  const { format, pages } = origin;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(origin.timeoutMs)]);
  const client = new Client(network, limit);
  try {
    const headers = { accept: ACCEPT[format], ...(await authorization(origin, secret, client)) };
    const known = pages === undefined && mark !== undefined ? marked(mark) : {};
    let [url, rows, all]: [URL | undefined, number, Read] = [firstPage(origin), 0, { atMs: nowMs, mark: undefined }];
    const seen = new Set<string>();
    for (let page = 0; url; page += 1) {
      if (page >= PAGES_MAX) throw unusable(`it has more than ${PAGES_MAX} pages`);
      const answer = await client.get(url, { ...headers, ...known });
      if (answer.statusCode === 304 && mark !== undefined) {
        answer.destroy();
        const at = modifiedMs(mark);
        return { unchangedAtMs: at === undefined ? nowMs : Math.min(at, nowMs) };
      }
      demandData(answer, format);
      const texts = textOf(contentOf(answer), BYTES_MAX[format]);
      if (format !== 'json') await readLines(texts, format, !isMeasured(answer), sink);
      const text = format === 'json' ? await joined(texts) : '';
      const body = format === 'json' ? parsed(text, page === 0 ? 'the answer' : `page ${page + 1}`) : null;
      const count = format === 'json' ? await rowsIn(body, origin.list, sink, rows) : 0;
      rows += count;
      const print = `${pages?.by === 'number' ? '' : url.href} ${createHash('sha256').update(text).digest('base64')}`;
      if (count > 0 && seen.has(print))
        throw unusable(`page ${page + 1} is an earlier one again: paging goes in a circle`);
      seen.add(print);
      if (page === 0) all = readAt(answer, pages, nowMs);
      url = nextPage(url, { origin, body, link: answer.headers.link, page, count });
    }
    return all;
  } catch (error) {
    if (limit.aborted && !signal.aborted) throw unusable(`no whole answer within ${origin.timeoutMs / 1_000} s`);
    throw error;
  }
}

const ACCEPT = { json: 'application/json', ndjson: 'application/x-ndjson, application/json', csv: 'text/csv' };

async function authorization({ auth }: HttpOrigin, secret: string | undefined, client: Client): Promise<Headers> {
  if (!auth || secret === undefined) return {};
  if (auth.token) return { authorization: `Bearer ${await client.token(auth.token, secret)}` };
  const isBasic = auth.scheme.toLowerCase() === 'basic';
  return { authorization: `${auth.scheme} ${isBasic ? Buffer.from(secret).toString('base64') : secret}` };
}

function firstPage({ url: text, pages }: HttpOrigin): URL {
  const url = new URL(text);
  if (pages?.by === 'number') url.searchParams.set(pages.parameter, `${pages.first}`);
  return url;
}

interface Page {
  origin: HttpOrigin;
  body: Fact;
  link: string | string[] | undefined;
  page: number;
  count: number;
}

/** Undefined: that was the last one. */
function nextPage(url: URL, { origin: { pages, url: first }, body, link, page, count }: Page): URL | undefined {
  if (!pages) return undefined;
  const following = new URL(url);
  if (pages.by === 'number') {
    if (count === 0) return undefined;
    following.searchParams.set(pages.parameter, `${pages.first + page + 1}`);
    return following;
  }
  const given = pages.by === 'link' ? linkedNext([link ?? []].flat().join(',')) : memberOf(pages.member)(body);
  if (given === undefined || given === null || given === '') return undefined;
  if (pages.by === 'token' && (typeof given === 'string' || typeof given === 'number')) {
    following.searchParams.set(pages.parameter, `${given}`);
    return following;
  }
  if (typeof given !== 'string' || !URL.canParse(given, url.href))
    throw unusable('the address of the next page is none');
  const next = new URL(given, url);
  if (next.origin !== new URL(first).origin)
    throw unusable(`the next page is at \`${next.host}\`, another host, and is not asked for`);
  return next;
}

function linkedNext(header: string): string | undefined {
  const links = [...header.matchAll(/<([^>]*)>((?:\s*;\s*[\w*-]+\s*=\s*(?:"[^"]*"|[^",;\s]+))*)/g)];
  return links.find(([, , parameters = '']) => /;\s*rel\s*=\s*"?([^"]*\s)?next(\s[^"]*)?"?/i.test(parameters))?.[1];
}

/** A reading of one page can be asked for again only if it changed. */
function readAt(
  { headers }: IncomingMessage,
  pages: GivenPages | undefined,
  nowMs: number,
): { atMs: number; mark: string | undefined } {
  const { etag, 'last-modified': modified } = headers;
  const mark = pages === undefined && (etag ?? modified) !== undefined ? JSON.stringify({ etag, modified }) : undefined;
  const at = pages === undefined ? modifiedMs(JSON.stringify({ modified })) : undefined;
  return { atMs: at === undefined ? nowMs : Math.min(at, nowMs), mark };
}

function marked(mark: string): Headers {
  const { etag, modified } = JSON.parse(mark) as { etag?: string; modified?: string };
  return {
    ...(etag !== undefined && { 'if-none-match': etag }),
    ...(modified !== undefined && { 'if-modified-since': modified }),
  };
}

function modifiedMs(mark: string): number | undefined {
  const ms = Date.parse(ownText(JSON.parse(mark) as Fact, 'modified') ?? '');
  return Number.isNaN(ms) ? undefined : ms;
}

function demandData(answer: IncomingMessage, format: HttpOrigin['format']): void {
  const { statusCode: status = 0, headers } = answer;
  const refuse = (what: string): never => {
    answer.destroy();
    throw unusable(what);
  };
  if (status >= 300 && status < 400) refuse(`status ${status}: a redirect, which is not followed`);
  if (status === 401 || status === 403) refuse(`status ${status}: the credential is refused`);
  if (status !== 200) refuse(`status ${status}`);
  if (/^(text\/html|application\/xhtml)/i.test(headers['content-type'] ?? ''))
    refuse(`status 200 with a page (HTML) where ${format} was expected`);
}

/** Whether its end is known to be the end. */
function isMeasured({ headers }: IncomingMessage): boolean {
  return (
    headers['content-length'] !== undefined ||
    headers['transfer-encoding'] === 'chunked' ||
    headers['content-encoding'] === 'gzip'
  );
}

function contentOf(answer: IncomingMessage): AsyncIterable<Uint8Array> {
  const coding = answer.headers['content-encoding'] ?? 'identity';
  if (coding === 'identity') return answer;
  if (coding !== 'gzip') throw unusable(`it is encoded as \`${coding}\`, which was not asked for`);
  // A stream that ends early is an error of the one that unpacks it.
  const unpacked = createGunzip();
  answer.on('error', (error) => unpacked.destroy(error));
  return answer.pipe(unpacked);
}

class Client {
  constructor(
    private readonly network: Network,
    private readonly signal: AbortSignal,
  ) {}

  get(url: URL, headers: Headers): Promise<IncomingMessage> {
    return this.ask(url, { method: 'GET', headers: { ...headers, 'accept-encoding': 'gzip' } });
  }

  /** Exchanges the id and secret of a client for a token (RFC 6749, section 4.4). */
  async token({ url, scope }: { url: string; scope: string | undefined }, secret: string): Promise<string> {
    const [id = '', ...rest] = secret.split(':');
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: id,
      client_secret: rest.join(':'),
      ...(scope !== undefined && { scope }),
    });
    const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };
    const answer = await this.ask(new URL(url), { method: 'POST', headers }, form.toString());
    if (answer.statusCode !== 200 && answer.statusCode !== 201) {
      answer.destroy();
      throw unusable(`a token was refused with status ${answer.statusCode}`);
    }
    const body = parsed(await joined(textOf(contentOf(answer), TOKEN_BYTES_MAX)), 'the answer with a token');
    const token = isFacts(body) ? own(body, 'access_token') : undefined;
    if (typeof token !== 'string' || !/^[\x21-\x7e]{1,20000}$/.test(token))
      throw unusable('the answer has no access_token');
    return token;
  }

  private async ask(url: URL, options: RequestOptions, body?: string): Promise<IncomingMessage> {
    const { network, signal } = this;
    const { host, hostname, protocol } = url;
    const isIn = (hosts: readonly string[]) => hosts.includes(hostname) || hosts.includes(host);
    if (!isIn(network.hosts))
      throw unusable(`\`${hostname}\` is not among TRUSTWARD_SOURCE_HOSTS: add it there, or correct the address`);
    const isPrivate = isIn(network.privateHosts);
    if (protocol !== 'https:' && !isPrivate) throw unusable('its address does not begin with https://');
    signal.throwIfAborted();
    const addresses = await unlessAborted(network.addressesOf(hostname, isPrivate), signal);
    const lookup: LookupFunction = (_host, { all }, done) =>
      all ? done(null, addresses) : done(null, addresses[0]?.address ?? '', addresses[0]?.family);
    // A connection of its own: a kept one could lead to an address that was checked long ago.
    const isTls = protocol === 'https:';
    const agent = isTls
      ? new HttpsAgent({ keepAlive: false, ca: network.ca, rejectUnauthorized: true })
      : new HttpAgent({ keepAlive: false });
    const send = isTls ? httpsRequest : httpRequest;
    return new Promise((resolve, reject) => {
      const asking = send(url, { ...options, lookup, agent, signal }, resolve);
      asking.on('error', reject);
      asking.end(body);
    });
  }
}

/** A name server that does not answer ends the reading in time. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = () => reject(signal.reason);
    signal.addEventListener('abort', end, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', end));
  });
}
