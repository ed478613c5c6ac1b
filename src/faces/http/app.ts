// http: the endpoint of one organization, put together: its routes, who may ask them, and what is answered once. In: the ports. Out: a
// Hono app, which stands alone or is mounted among others.

import { createHash } from 'node:crypto';
import { Hono } from 'hono';
import { html } from 'hono/html';
import { STREAM_PATH } from '../../contract/endpoint.ts';
import { keyHeaders, KEY_HEADER as NAME } from '../../contract/operation.ts';
import { DOUBTS, EXEMPTIONS, PEOPLE, REQUESTS, ROLLOUTS, SWITCHES, TOKENS } from '../../contract/operator.ts';
import { PLANS, RUNS, runPath } from '../../contract/plans.ts';
import { AUDIT, EXPLANATIONS, PAST, RECORDS, RULES } from '../../contract/records.ts';
import { REPLAYS } from '../../contract/replay.ts';
import { USER_HEADER } from '../../domain/actor.ts';
import type { Caller, KeptAnswer, KeyedRequest } from '../../domain/endpoint-token.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import { bearerOf, callerOf, demandScope, namingUser } from './auth.ts';
import { type HttpDeps, isStop, RateLimit } from './deps.ts';
import {
  baseOf,
  isAsset,
  isForMachines,
  isWithToken,
  matchesPath,
  pageAsked,
  pathWithin,
  sentPath,
  shownPath,
} from './mount.ts';
import type { Wants } from './persons.ts';
import { PAGE_HEADERS, Problem, problemOf, problemResponse, SECURITY_HEADERS, UNFORESEEN } from './problem.ts';
import {
  addRoutes,
  type Ctx,
  callerIfAny,
  type DocumentSource,
  demandHost,
  demandShortBody,
  type Env,
  json,
  leadTo,
  noRoute,
  operationRoutes,
  operationsOf,
  type Pages,
  type Route,
  readBodyText,
  readHeaders,
} from './route.ts';
import { healthRoutes, metricsRoute, openapiRoute, pointerRoute } from './routes/health.ts';
import { reportRoute, runAnswered, triggerRoute } from './routes/runs.ts';
import { loginRoutes, signInLinkRoute, signInRoutes } from './routes/sign-in.ts';
import { signalRoute } from './routes/signals.ts';
import { signalsOutRoutes } from './routes/signals-out.ts';
import { streamRoute } from './routes/stream.ts';
import { RETURN_MAX } from './sign-in.ts';

/** @param publicUrl TRUSTWARD_PUBLIC_URL. Errors: Problem 403. */
function demandOrigin({ req }: Ctx, { publicUrl, sendsNoOrigin }: Pick<Guards, 'publicUrl' | 'sendsNoOrigin'>): void {
  const own = URL.parse(`http://${req.header('host') ?? new URL(req.url).host}`)?.origin;
  const ours = [own, publicUrl === undefined ? undefined : new URL(publicUrl).origin].filter(
    (each) => each !== undefined,
  );
  const origin = req.header('origin');
  const site = req.header('sec-fetch-site');
  const isOurs = origin === undefined || origin === 'null' ? sendsNoOrigin : ours.includes(origin);
  if (isOurs && (site === undefined || site === 'same-origin')) return;
  const expected = ours.map((each) => `\`${each}\``).join(' or ');
  const given = origin === undefined ? 'no Origin' : `the Origin \`${origin}\``;
  const found = site === undefined || site === 'same-origin' ? given : `${given} and \`Sec-Fetch-Site: ${site}\``;
  throw new Problem(
    403,
    'foreign-origin',
    'The form comes from another site',
    `the request has ${found}, and ${expected} was expected: send it from a page of this Trustward; behind a proxy, set TRUSTWARD_PUBLIC_URL`,
  );
}

// What is asked before a page is answered: our own Origin for every form, a session, and its scope. In: a route of the
// pages. Out: the same route, guarded. INVARIANT: the caller comes from the session alone, never from a header that a
// page could set.

function guardedPage(route: Route, deps: Pick<Guards, 'publicUrl' | 'sendsNoOrigin' | 'anew'>): Route {
  const { method, scope, handle } = route;
  return {
    ...route,
    handle: async (context) => {
      if (method === 'POST') demandOrigin(context, deps);
      if (scope === undefined) return handle(context);
      const caller = method === 'POST' && deps.anew ? await deps.anew(context) : callerIfAny(context);
      if (!caller && method === 'GET') return leadToSession(context);
      if (!caller) throw notSignedIn(context);
      context.set('caller', caller);
      demandScope(caller, scope);
      return handle(context);
    },
  };
}

export function leadToSession(context: Ctx): Response | Promise<Response> {
  const to = pageAsked(context);
  if (context.req.header('sec-fetch-site') === 'cross-site') return askAgain(context, `${baseOf(context)}${to}`);
  const isFirst = to === '/' || to.length > RETURN_MAX;
  return leadTo(context, isFirst ? '/sign-in' : `/sign-in?to=${encodeURIComponent(to)}`);
}

/**
 * The browser followed a link of another site, such as that of a message, and a cookie of SameSite=Strict stays at home then. Asked
 * again by our own page, it sends the cookie if there is one. Never a loop: that request is not cross-site.
 */
function askAgain(context: Ctx, to: string): Response | Promise<Response> {
  return context.html(html`<!DOCTYPE html>
<html lang="en"><head><title>Trustward</title><meta http-equiv="refresh" content="0;url=${to}"></head>
<body><a href="${to}">Continue</a></body></html>
`);
}

function notSignedIn(context: Ctx): Problem {
  const detail = `your session has ended, so nothing was done: sign in at \`${baseOf(context)}/sign-in\`, then do it again`;
  return new Problem(401, 'unauthorized', 'You are not signed in', detail);
}

// Routes with all that is asked before one is answered: hosts, who asks, how often, how long; and every error as
// problem details.

export interface Identity {
  caller: Caller;
  /** The id of the session that they come from, if they do. */
  session?: string;
  /** Without a session: who the same request is of now. Errors: as at its beginning, once its token is revoked or expired. */
  now?: () => Caller;
}

export interface Guards extends Pick<HttpDeps, 'clock' | 'hosts' | 'publicUrl' | 'log'> {
  metrics: Pick<HttpDeps['metrics'], 'answered'>;
  rates: RateLimit;
  /** Who asks, as far as the path is not open to anybody. Errors: Problem 401. */
  identify(context: Ctx): Identity | undefined | Promise<Identity | undefined>;
  /** Who asks, before a page changes something; absent: as at the request's beginning. Errors: Problem 403, 503 about a person. */
  anew?(context: Ctx): Promise<Caller | undefined>;
  /** With pages, the paths that are not for machines are theirs, also the errors there. */
  pages: Pick<Pages, 'problem'> | undefined;
  document: DocumentSource;
  /** What is secret stands in the address of the pages: they have no referrer, and a browser sends `null` as the Origin of their forms. */
  sendsNoOrigin?: boolean;
  /** The refusal for a path that no route has. */
  absent?(context: Ctx): Problem;
}

export function guardedApp(guards: Guards, routes: readonly Route[]): Hono<Env> {
  const { clock, pages, rates } = guards;
  const app = new Hono<Env>({
    getPath: (request, options) => pathWithin(request, (options as { env?: Env['Bindings'] } | undefined)?.env?.mount),
  });
  const isPage = (path: string) => pages !== undefined && !isForMachines(path);
  const answerProblem = async (problem: Problem, context: Ctx): Promise<Response> => {
    const instance = sentPath(context);
    if (!pages || !isPage(context.req.path)) return problemResponse(problem, instance);
    try {
      return await pages.problem(problem, context);
    } catch (error) {
      return problemResponse(foreseen(guards, error), instance);
    }
  };
  app.use(async (context, next) => {
    const startedMs = clock.monotonicMs();
    context.set('document', guards.document);
    await next();
    const { headers } = context.res;
    const page = guards.sendsNoOrigin ? { ...PAGE_HEADERS, 'Referrer-Policy': 'no-referrer' } : PAGE_HEADERS;
    const ours = isPage(context.req.path) ? page : SECURITY_HEADERS;
    for (const [name, value] of Object.entries(ours)) if (!headers.has(name)) headers.set(name, value);
    const ms = clock.monotonicMs() - startedMs;
    const { method } = context.req;
    guards.metrics.answered({ method, route: context.var.route, status: context.res.status, ms });
    logRequest(guards, context, ms);
  });
  app.use(async (context, next) => {
    demandHost(context, guards.hosts);
    await next();
  });
  app.use(async (context, next) => {
    const { caller, session, now } = (await identified(guards, context)) ?? {};
    if (caller) context.set('caller', caller);
    if (session !== undefined) context.set('session', session);
    if (now) context.set('callerNow', now);
    rates.demand(context);
    await next();
  });
  // After the caller is known: a stranger learns nothing but that a token is needed.
  app.use(async (context, next) => {
    demandShortBody(context);
    await next();
  });
  addRoutes(
    app,
    routes.map((route) => (isPage(route.path) ? guardedPage(route, guards) : guarded(route))),
  );
  app.notFound((context) => {
    const { method, path } = context.req;
    const refusal = noRoute(routes, method, path);
    return answerProblem((refusal.status === 404 && guards.absent?.(context)) || refusal, context);
  });
  app.onError((error, context) => answerProblem(foreseen(guards, error), context));
  return app;
}

async function identified({ identify, rates }: Guards, context: Ctx): Promise<Identity | undefined> {
  try {
    return await identify(context);
  } catch (error) {
    if (error instanceof Problem && error.status === 401) rates.countFailure(context);
    throw error;
  }
}

function guarded(route: Route): Route {
  const { scope, handle } = route;
  if (scope === undefined) return route;
  return {
    ...route,
    handle: (context) => {
      demandScope(context.var.caller, scope);
      return handle(context);
    },
  };
}

function foreseen({ log }: Pick<Guards, 'log'>, error: unknown): Problem {
  const problem = problemOf(error);
  if (error instanceof AppError && error.code === 'config')
    log.error({}, `a request failed, since the configuration is wrong: ${lineOf(error)}`);
  if (problem) return problem;
  const stack = error instanceof Error ? error.stack : undefined;
  log.error({ stack }, `a request failed with an unexpected error: ${lineOf(error)}`);
  return UNFORESEEN;
}

function logRequest({ log }: Pick<Guards, 'log'>, context: Ctx, ms: number): void {
  const { method } = context.req;
  const path = shownPath(sentPath(context));
  const by = context.var.caller?.name;
  const { status } = context.res;
  log.debug({ method, path, status, by, ms: Math.round(ms) }, `${method} ${path}: ${status}`);
}

// The header Idempotency-Key: a request that is repeated is done once.

const REPLAYED = 'Idempotency-Replayed';
const KEPT_HEADERS = ['content-type', 'location'];
/** Nothing was done for these. */
const UNDONE = new Set([400, 401, 403, 404, 413, 422, 429]);

function takesKey({ described }: Route): boolean {
  return described?.headers === keyHeaders;
}

/** What became of a request whose answer was lost; undefined: nothing was begun. */
type Recover = (context: Ctx, kept: KeyedRequest) => Promise<Response | undefined>;

class Idempotency {
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

// The answer to a repeated request whose first answer was lost, since the process ended or the disk failed.

const VERBS = ['approve', 'reject', 'apply'] as const;
const STATUSES: Record<(typeof VERBS)[number], readonly string[]> = {
  approve: ['approved', 'applying', 'applied', 'interrupted'],
  reject: ['rejected'],
  apply: ['applied'],
};

function lostAnswers(deps: HttpDeps): Recover {
  return async (context, kept) => {
    if (kept.run === undefined) return planOf(deps, context, kept);
    const run = await operationsOf(deps, context).getRun({ id: kept.run });
    const { id, status } = run;
    return runAnswered(context, { id, status, location: runPath(id), run }, isAwaited(context));
  };
}

function isAwaited(context: Ctx): boolean {
  return (JSON.parse(context.var.bodyText ?? '') as { wait?: unknown }).wait === true;
}

/** Of another person's answer, or of a plan that this request left as it was, the route itself says what can be said. */
async function planOf(deps: HttpDeps, context: Ctx, kept: KeyedRequest): Promise<Response | undefined> {
  const { path } = context.req;
  const verb = VERBS.find((one) => matchesPath(`/api/plans/:id/${one}`, path));
  const id = decodeURIComponent(path.split('/')[3] ?? '');
  const plan = verb && (await deps.reader.plan(id));
  if (!plan || !STATUSES[verb].includes(plan.status)) return undefined;
  const isOurs = plan.decidedBy === context.var.caller.name && (plan.decidedAt ?? 0) >= kept.begunAt;
  if (verb !== 'apply' && !isOurs) return undefined;
  const shown = await operationsOf(deps, context).getPlan({ id });
  return json({ ...shown, ...(verb === 'approve' && { rest: null }), applied: null });
}

/**
 * The endpoint. Everything under `/api`, and `/metrics`, needs a bearer token; its errors never carry a secret or a stack trace. With pages, the other
 * paths are theirs, also the errors there.
 */
export function createHttpApp(deps: HttpDeps, pages?: Pages): Hono<Env> {
  const own = { triggerRun: triggerRoute(deps), getReport: reportRoute(deps) };
  const routes: Route[] = [
    ...healthRoutes(deps),
    ...operationRoutes(deps, [RUNS, PLANS, RECORDS, PAST, AUDIT], own),
    streamRoute(deps),
    ...operationRoutes(deps, [
      EXPLANATIONS,
      RULES,
      REPLAYS,
      EXEMPTIONS,
      REQUESTS,
      SWITCHES,
      ROLLOUTS,
      DOUBTS,
      PEOPLE,
      TOKENS,
    ]),
    ...signalsOutRoutes(deps),
    metricsRoute(deps),
    signInLinkRoute(deps),
    ...loginRoutes({ signInAt: () => deps.signIn, log: deps.log }),
    openapiRoute(() => document()),
    ...(deps.signals ? [signalRoute(deps.signals)] : []),
    ...(pages
      ? [
          ...pages.routes,
          ...signInRoutes({
            signInAt: () => deps.signIn,
            opensByCommand: deps.isDaemon && deps.signIn.hasLinks,
            log: deps.log,
          }),
        ]
      : [pointerRoute(deps)]),
  ];
  const document = documentSource(routes);
  const keys = new Idempotency(deps, lostAnswers(deps));
  const rates = deps.rates ?? new RateLimit(deps.clock, deps.rateLimits);
  return guardedApp(
    {
      ...{ ...deps, rates, pages, document },
      identify: (context) => identify(deps, pages !== undefined, context),
      anew: async (context) => (await deps.signIn.callerOf(context.req.header('cookie'), wantsOf(context)))?.caller,
    },
    routes.map((route) => (takesKey(route) ? keys.once(route) : route)),
  );
}

/** A session opens pages and the stream, a token the rest. Errors: Problem 401; AppError `store_failed` when nobody can say. */
async function identify(
  deps: Pick<HttpDeps, 'signIn' | 'verifyToken'>,
  hasPages: boolean,
  context: Ctx,
): Promise<Identity | undefined> {
  const { req } = context;
  const authorization = req.header('authorization');
  const isPage = hasPages && !isForMachines(req.path) && !isAsset(req.path);
  const mayBeSession = isPage || (req.path === STREAM_PATH && authorization === undefined);
  const session = mayBeSession ? await deps.signIn.callerOf(req.header('cookie')) : undefined;
  if (session) return { caller: session.caller, session: session.id };
  if (!isWithToken(req.path)) return undefined;
  const login = await deps.signIn.callerOfLogin(bearerOf(authorization), wantsOf(context));
  if (login) return { caller: login.caller, session: login.id };
  const now = () => namingUser(callerOf(authorization, deps), req.header(USER_HEADER));
  return { caller: now(), now };
}

function wantsOf(context: Ctx): Wants {
  if (isStop(context)) return 'stop';
  return context.req.method === 'POST' ? 'write' : 'read';
}

/** The library that makes it is loaded when it is first asked for. */
export function documentSource(routes: readonly Route[]): DocumentSource {
  let made: ReturnType<DocumentSource> | undefined;
  const make = async () => (await import('./document.ts')).documentOf(routes);
  return () => (made ??= make());
}
