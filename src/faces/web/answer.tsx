// web: a page as an answer. In: a page's content, and the request. Out: HTML; a refusal as a page that names what was wrong.

import type { Scope } from '../../domain/endpoint-token.ts';
import { lineOf } from '../../domain/errors.ts';
import type { InboxCounts } from '../../domain/store-ports.ts';
import type { HttpDeps } from '../http/deps.ts';
import { mountOf } from '../http/mount.ts';
import { Problem } from '../http/problem.ts';
import { type Ctx, callerIfAny, leadTo, type Route, Turns } from '../http/route.ts';
import { includesScope } from '../http/sign-in.ts';
import { asSentence } from '../report/fact-text.ts';
import { Link } from '../report/html/link.tsx';
import { Words } from '../report/html/text.tsx';
import { type Waiting, within } from './address.ts';
import { zippedResponse } from './assets.ts';
import { Layout, type PageContent, type PageContext } from './layout.tsx';
import { wrongSignIn } from './pages/sign-in.tsx';

const HEADERS = { 'Content-Type': 'text/html; charset=utf-8' };

/** Errors: those of the store. */
export async function answerPage(deps: HttpDeps, context: Ctx, content: PageContent, status = 200): Promise<Response> {
  const caller = callerIfAny(context);
  const shared = {
    caller,
    demo: deps.demo,
    stop: caller && (await deps.reader.stop()),
    waiting: caller ? sumOf(await deps.reader.inboxCounts()) : 0,
    mount: mountOf(context),
  };
  return htmlOf(context, content, shared, status);
}

/** A page that shows nothing of an organization, for anybody. */
export function openPage({ demo }: Pick<HttpDeps, 'demo'>, context: Ctx, content: PageContent): Promise<Response> {
  return htmlOf(
    context,
    content,
    { caller: undefined, demo, stop: undefined, waiting: 0, mount: mountOf(context) },
    200,
  );
}

async function htmlOf(
  context: Ctx,
  content: PageContent,
  shared: PageContext,
  status: number,
  headers = {},
): Promise<Response> {
  const html = await (<Layout content={content} context={shared} />).toString();
  return zippedResponse(context, `<!DOCTYPE html>${html}`, status, { ...HEADERS, ...headers });
}

function sumOf(counts: InboxCounts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** A page for who has the scope `read`; `content` may answer by itself, as with another address. */
export function readPage(
  deps: HttpDeps,
  path: string,
  content: (context: Ctx) => Promise<PageContent | Response> | PageContent | Response,
): Route {
  return {
    method: 'GET',
    path,
    scope: 'read',
    handle: async (context) => {
      // INVARIANT: before the content is read: the stream goes on from here, so that nothing between is missed.
      const { seq } = await deps.reader.auditHead();
      const made = await content(context);
      return made instanceof Response ? made : answerPage(deps, context, { ...made, liveAfter: seq });
    },
  };
}

/** Does what a form asks for, and leads to the address that it returns: reading that again repeats nothing. What takes long goes on by itself. */
export function formPage(
  deps: Waiting & Pick<HttpDeps, 'log'>,
  path: string,
  scope: Scope,
  change: (context: Ctx) => Promise<string>,
): Route {
  return {
    method: 'POST',
    path,
    scope,
    handle: async (context) => {
      const changed = change(context);
      const place = await within(deps, ANSWER_MS, changed);
      // A process that ends does nothing later: its own error is the answer.
      if (place !== undefined || deps.stream.ending.aborted) return leadTo(context, place ?? (await changed));
      changed.catch((error: unknown) =>
        deps.log.error({ path }, `what a person asked for failed later: ${lineOf(error)}`),
      );
      throw new Problem(503, 'no-answer-yet', 'There is no answer yet', NO_ANSWER_YET);
    },
  };
}

/** Browsers and proxies give up after a minute or a few, and then show nothing. */
const ANSWER_MS = 45_000;
const NO_ANSWER_YET =
  'it was asked for, and is done in its turn: other work is before it, or, with PostgreSQL, no worker (`trustward worker`) runs; look at the audit before you ask again';

export function mayDo(context: Ctx, scope: Scope): boolean {
  const caller = callerIfAny(context);
  return caller !== undefined && includesScope(caller.scope, scope);
}

/** Reading it must not need the store: it may be what failed. */
export async function problemPage(
  deps: Pick<HttpDeps, 'demo'>,
  problem: Problem,
  context: Ctx,
  caller = callerIfAny(context),
): Promise<Response> {
  const { title, problemDetail, more, status } = problem;
  const content: PageContent = {
    title,
    body:
      more.signInTo === undefined ? (
        <article class="card">
          <h1>{title}</h1>
          <p>
            <Words>{asSentence(problemDetail)}</Words>
          </p>
          {more.errors && more.errors.length > 1 ? (
            <ul>
              {more.errors.map(({ path, message }) => (
                <li>
                  <Words>{`${path} ${message}`}</Words>
                </li>
              ))}
            </ul>
          ) : null}
          <p>
            <Link href="/">Overview</Link>
          </p>
        </article>
      ) : (
        wrongSignIn(asSentence(problemDetail), more.signInTo)
      ),
  };
  const shared = { caller, demo: deps.demo, stop: undefined, waiting: 0, mount: mountOf(context) };
  return htmlOf(context, content, shared, status, more.headers);
}

const BOUNDS = { what: 'questions to the platform', underWayMax: 4, waitingMax: 8 };

export class InTime {
  private readonly turns = new Turns(BOUNDS);
  private readonly underWay = new Map<string, Promise<unknown>>();

  constructor(private readonly waiting: Waiting) {}

  /** `key`: equal for equal work. Errors: those of the work; Problem 429 when too much is under way. */
  async of<T>(key: string, work: () => Promise<T>, waitMs: number): Promise<T | undefined> {
    return within(this.waiting, waitMs, (this.underWay.get(key) ?? this.begin(key, work)) as Promise<T>);
  }

  private begin<T>(key: string, work: () => Promise<T>): Promise<T> {
    const begun = this.turns.take(work).finally(() => this.underWay.delete(key));
    // It may fail when nobody waits any more.
    begun.catch(() => {});
    this.underWay.set(key, begun);
    return begun;
  }
}
