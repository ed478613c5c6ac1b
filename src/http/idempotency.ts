// http: the header Idempotency-Key: a request that is repeated is done once. In: a route that takes the header. Out: the same route, which
// answers a repeat with the first answer, also after a restart. A repeat while the first is under way, here or at another endpoint, is 409; the
// key with another request is 422. What changed nothing is not kept.
import { createHash } from 'node:crypto';
import { lineOf } from '../domain/errors.ts';
import type { KeptAnswer, KeyedRequest } from '../domain/kept-answer.ts';
import { readBodyText } from './body.ts';
import type { HttpDeps } from './deps.ts';
import { readHeaders } from './input.ts';
import { keyHeaders, KEY_HEADER as NAME } from './key-headers.ts';
import { Problem, problemOf } from './problem.ts';
import type { Ctx, Route } from './route.ts';

const REPLAYED = 'Idempotency-Replayed';
const KEPT_HEADERS = ['content-type', 'location'];
/** Nothing was done for these. */
const UNDONE = new Set([400, 401, 403, 404, 413, 422, 429]);

export function takesKey({ described }: Route): boolean {
  return described?.headers === keyHeaders;
}

/** What became of a request whose answer was lost; undefined: nothing was begun. */
export type Recover = (context: Ctx, kept: KeyedRequest) => Promise<Response | undefined>;

export class Idempotency {
  /** The hashes of requests by their ids. */
  private readonly underWay = new Map<string, string>();

  constructor(
    private readonly deps: Pick<HttpDeps, 'answers' | 'log'>,
    private readonly recover: Recover,
  ) {}

  once(route: Route): Route {
    return { ...route, handle: (context) => this.answer(context, route) };
  }

  private async answer(context: Ctx, { handle }: Route): Promise<Response> {
    const { [NAME]: key } = readHeaders(context, keyHeaders);
    if (key === undefined) return handle(context);
    const text = await readBodyText(context);
    context.set('bodyText', text);
    const { caller } = context.var;
    const id = hashOf(caller.token ?? caller.name, key);
    const request = hashOf(context.req.method, context.req.path, text);
    const before = this.underWay.get(id);
    if (before !== undefined) throw before === request ? stillUnderWay() : usedOtherwise();
    this.underWay.set(id, request);
    try {
      return await this.answerAlone(context, handle, id, request);
    } finally {
      this.underWay.delete(id);
    }
  }

  private async answerAlone(context: Ctx, handle: Route['handle'], id: string, request: string): Promise<Response> {
    const { answers } = this.deps;
    const release = await answers.hold(id);
    if (release) return this.answerOnce(context, handle, id, request).finally(release);
    const kept = await answers.find(id);
    if (kept && kept.request !== request) throw usedOtherwise();
    if (kept?.answer) return replayed(kept.answer);
    throw stillUnderWay();
  }

  private async answerOnce(context: Ctx, handle: Route['handle'], id: string, request: string): Promise<Response> {
    const { answers } = this.deps;
    const kept = await answers.find(id);
    if (kept && kept.request !== request) throw usedOtherwise();
    if (kept?.answer) return replayed(kept.answer);
    const recovered = kept && (await this.recover(context, kept));
    if (recovered) {
      const answer = await answerOf(recovered);
      await this.keep(id, answer);
      return replayed(answer);
    }
    if (!kept) await answers.begin(id, request);
    context.set('onceId', id);
    return this.perform(context, handle, id);
  }

  private async perform(context: Ctx, handle: Route['handle'], id: string): Promise<Response> {
    try {
      const answer = await answerOf(await handle(context));
      await this.keep(id, answer);
      return responseOf(answer);
    } catch (error) {
      if (UNDONE.has(problemOf(error)?.status ?? 500)) await this.recorded(this.deps.answers.forget(id));
      throw error;
    }
  }

  private keep(id: string, answer: KeptAnswer): Promise<void> {
    return this.recorded(this.deps.answers.keep(id, answer));
  }

  /** What was done is done, and is answered whether or not this can be stored. */
  private async recorded(work: Promise<void>): Promise<void> {
    await work.catch((error: unknown) => {
      this.deps.log.warn({}, `the answer to a request with a key could not be stored: ${lineOf(error)}`);
    });
  }
}

function hashOf(...parts: string[]): string {
  return createHash('sha256').update(parts.join('\0')).digest('hex');
}

async function answerOf(response: Response): Promise<KeptAnswer> {
  const headers = KEPT_HEADERS.flatMap((name) => {
    const value = response.headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  const body = new Uint8Array(await response.arrayBuffer());
  return { status: response.status, headers: Object.fromEntries(headers), body };
}

function responseOf({ status, headers, body }: KeptAnswer, more: Record<string, string> = {}): Response {
  return new Response(Buffer.from(body), { status, headers: { ...headers, ...more } });
}

function replayed(answer: KeptAnswer): Response {
  return responseOf(answer, { [REPLAYED]: 'true' });
}

function stillUnderWay(): Problem {
  const detail = 'the first request with this key is not answered yet: repeat it in a moment';
  return new Problem(409, 'under-way', 'The request is under way', detail, { headers: { 'Retry-After': '1' } });
}

function usedOtherwise(): Problem {
  const detail = `this \`${NAME}\` was used with another request: use a new key for a new request`;
  return new Problem(422, 'key-used', 'The key belongs to another request', detail);
}
