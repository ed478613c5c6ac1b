// http: an endpoint of several organizations. In: ports. Out: a Hono app that shows each request to the app of its organization, under
// `/orgs/ID/…` for people and `/api/orgs/ID/…` for programs, and answers the other paths itself. Where one organization is configured alone,
// the other paths are those of it.

import { Hono } from 'hono';
import { getPath } from 'hono/utils/url';
import { z } from 'zod';
import { METRICS_PATH, NO_ORGANIZATION, ORGANIZATIONS, ORGANIZATIONS_PATH } from '../../../contract/endpoint.ts';
import { type Caller, hashOfToken } from '../../../domain/endpoint-token.ts';
import { lineOf } from '../../../domain/errors.ts';
import type { Clock } from '../../../domain/ports.ts';
import { NO_TRANSMITTER } from '../../../domain/signal.ts';
import { documentSource, type Guards, guardedApp, type Identity, leadToSession } from '../app.ts';
import { bearerOf, callerOf } from '../auth.ts';
import { RateLimit } from '../deps.ts';
import { isAsset, isForMachines, isUnderApi, isWithToken, type Mount, mountOf, pathWithin } from '../mount.ts';
import { createPeopleApp, isPersonPath } from '../people.ts';
import { isLogin } from '../persons.ts';
import { Problem, problemResponse, UNFORESEEN } from '../problem.ts';
import { type Ctx, type Env, json, leadTo, type Route, readQuery, routeOf } from '../route.ts';
import { healthRoutes, metricsRoute, openapiRoute } from '../routes/health.ts';
import { loginRoutes } from '../routes/sign-in.ts';
import { SIGNAL_PATH, signalRoute } from '../routes/signals.ts';
import { isOfSignals, signalsOfAll } from '../routes/signals-out.ts';
import { personsOf, SignIn, type SigningIn } from '../sign-in.ts';
import {
  OpenedOrganizations,
  type OrganizationLine,
  type OrganizationsPages,
  type OrganizationsParts,
  outsideOf,
  type Place,
  type SigningParts,
} from './opened.ts';

// Which organization a bearer token belongs to.

const KEPT_MS = 60_000;
const KEPT_MAX = 10_000;

class Owners {
  private readonly kept = new Map<string, { id: string; atMs: number }>();

  constructor(
    private readonly ask: (tokenHash: string) => Promise<string | undefined>,
    private readonly clock: Pick<Clock, 'monotonicMs'>,
  ) {}

  /** The organization itself asks its own tokens again, so one that was revoked meanwhile opens nothing. */
  async of(tokenHash: string): Promise<string | undefined> {
    const nowMs = this.clock.monotonicMs();
    const known = this.kept.get(tokenHash);
    if (known && nowMs - known.atMs < KEPT_MS) return known.id;
    this.kept.delete(tokenHash);
    const id = await this.ask(tokenHash);
    if (id === undefined) return undefined;
    this.kept.set(tokenHash, { id, atMs: nowMs });
    const [oldest] = this.kept.keys();
    if (this.kept.size > KEPT_MAX && oldest !== undefined) this.kept.delete(oldest);
    return id;
  }
}

// The answers to who belongs to no organization of the name that a path has: whether there is one of it or not, they
// are the same.

/** No token is known. */
const NOBODY = { verifyToken: () => undefined };

interface StrangersParts {
  parts: OrganizationsParts;
  pages: OrganizationsPages;
  owners: Owners;
  opened: OpenedOrganizations;
  ofAll: SignIn;
}

function strangersApp(strangers: StrangersParts, guards: Omit<Guards, 'identify' | 'pages'>): Hono<Env> {
  const { pages, parts } = strangers;
  const signInAt = (context: Ctx) => signingIn(strangers, mountOf(context)?.organization.id ?? '');
  const identify = ({ req }: Ctx) =>
    isWithToken(req.path) ? { caller: callerOf(req.header('authorization'), NOBODY) } : undefined;
  return guardedApp({ ...guards, identify, pages }, [...pages.open({ signInAt, log: parts.log }), ...anyPage()]);
}

/** Whatever is asked for: a session is needed. */
function anyPage(): Route[] {
  const handle = (): never => {
    throw new Error('a page without its session was reached');
  };
  return (['GET', 'POST'] as const).map((method) => ({ method, path: '/*', scope: 'read', handle }));
}

/** Signing in to an organization which may not be there, and opens only for a token of it. */
function signingIn({ parts, opened, owners, ofAll }: StrangersParts, id: string): SigningIn {
  const outside = outsideOf(id, parts, ofAll);
  const byLink = async (code: string) => {
    const isOurs = (await outside.hasLink(code)) && parts.list().some((line) => line.id === id);
    return isOurs ? (await opened.open(id)).signIn : undefined;
  };
  return {
    peek: async (code) => (await byLink(code))?.peek(code),
    withCode: async (code) => (await byLink(code))?.withCode(code),
    withToken: async (token) => {
      const provider = await ofAll.withToken(token);
      if (provider) return provider;
      if ((await owners.of(hashOfToken(token))) !== id) return undefined;
      return (await opened.open(id)).signIn.withToken(token);
    },
    cookie: (signedIn) => ofAll.cookie(signedIn),
    ...atProvider(ofAll),
    signOut: (cookieHeader) => outside.signOut(cookieHeader),
  };
}

/** Persons are signed in once for all of them, and their groups say which they may see. */
function atProvider(ofAll: SignIn): Pick<SigningIn, 'persons' | 'toProvider' | 'fromProvider'> {
  return {
    persons: ofAll.persons,
    toProvider: (to) => ofAll.toProvider(to),
    fromProvider: (cookieHeader, query) => ofAll.fromProvider(cookieHeader, query),
  };
}

// Which organizations a request may see, by its token or its cookies. In: a request. Out: all, some by id, or none.
// INVARIANT: a stranger to an organization is known as one before anything of it is opened, and by the same steps
// whether or not it exists.

/** Ids in cookies that a browser may have: each is a question to the store. */
const COOKIES_MAX = 20;
const COOKIE = /(?:^|;)\s*trustward-\d+-([a-z0-9-]+)=/g;

class Who {
  constructor(
    private readonly parts: SigningParts & Pick<OrganizationsParts, 'verifyProvider' | 'list'>,
    private readonly owners: Owners,
    private readonly opened: OpenedOrganizations,
    /** Sessions of tokens of all organizations. */
    private readonly ofAll: SignIn,
  ) {}

  /** Who asks with a token of all organizations. */
  providerByToken({ headers }: Request): Caller | undefined {
    const token = bearerOf(headers.get('authorization') ?? undefined);
    if (token === undefined) return undefined;
    const hash = hashOfToken(token);
    const caller = this.parts.verifyProvider(hash);
    return caller && { ...caller, token: hash };
  }

  /** Who asks with a session of such a token. Errors: AppError. */
  async providerInPages({ headers }: Request): Promise<Caller | undefined> {
    return (await this.ofAll.callerOf(headers.get('cookie') ?? undefined))?.caller;
  }

  /** Errors: AppError. */
  async isProvider(request: Request): Promise<boolean> {
    return (this.providerByToken(request) ?? (await this.providerInPages(request))) !== undefined;
  }

  /** The organization of the request's token. Errors: AppError. */
  async organizationOf({ headers }: Request): Promise<string | undefined> {
    const token = bearerOf(headers.get('authorization') ?? undefined);
    return token === undefined ? undefined : this.owners.of(hashOfToken(token));
  }

  /** What a command sends that signed in; it counts for programs alone. */
  private loginOf({ url, headers }: Request): string | undefined {
    return isUnderApi(new URL(url).pathname) ? bearerOf(headers.get('authorization') ?? undefined) : undefined;
  }

  /** The organizations of a person who signed in with a command; undefined for anybody else. Errors: AppError. */
  async seenByLogin(request: Request): Promise<((id: string) => boolean) | undefined> {
    const login = this.loginOf(request);
    return isLogin(login) ? this.ofAll.seenBy(undefined, login) : undefined;
  }

  /** Whether the request may be shown to an organization of this name. It may not exist. Errors: AppError. */
  async belongsTo(request: Request, id: string): Promise<boolean> {
    if (await this.isProvider(request)) return true;
    if ((await this.organizationOf(request)) === id) return true;
    const cookie = request.headers.get('cookie') ?? undefined;
    if ((await this.ofAll.seenBy(cookie, this.loginOf(request)))?.(id)) return true;
    return outsideOf(id, this.parts, this.ofAll).hasSession(cookie);
  }

  /** The organizations that a browser is signed in to. Errors: AppError. */
  async signedInTo({ headers }: Request): Promise<string[]> {
    const cookie = headers.get('cookie') ?? '';
    const maySee = await this.ofAll.seenBy(cookie);
    const found = maySee ? this.parts.list().flatMap(({ id }) => (maySee(id) ? [id] : [])) : [];
    for (const id of this.namedIn(cookie)) if (await this.isSignedIn(id, cookie)) found.push(id);
    return found;
  }

  /** The organizations of the cookies, whether or not they are there. */
  namedIn(cookie: string): string[] {
    return [...new Set([...cookie.matchAll(COOKIE)].map(([, id]) => id as string))].slice(0, COOKIES_MAX);
  }

  /** The organization itself knows whether the token of a session is still good. One that cannot be opened shows why to its own. */
  private async isSignedIn(id: string, cookie: string): Promise<boolean> {
    if (!(await outsideOf(id, this.parts, this.ofAll).hasSession(cookie))) return false;
    if (!this.parts.list().some((line) => line.id === id)) return false;
    const place = await this.opened.open(id).catch(() => undefined);
    return place === undefined || (await place.signIn.callerOf(cookie)) !== undefined;
  }
}

// What an endpoint of several organizations answers by itself: its health, the list of organizations, choosing one,
// signing in.

const CHOOSE_PATH = '/orgs';

const CHOICES_MAX = 200;

interface RootParts extends StrangersParts {
  who: Who;
}

function rootApp(root: RootParts, guards: Omit<Guards, 'identify' | 'pages' | 'document'>): Hono<Env> {
  const { parts, pages, who } = root;
  const signInAt = () => signingInAnywhere(root);
  const routes: Route[] = [
    ...healthRoutes({ readiness: readinessFor(root), demo: false }),
    organizationsRoute(root),
    metricsRoute(parts),
    ...signalsOfAll(parts.publicUrl, parts.signalKeys),
    openapiRoute(() => document()),
    ...loginRoutes({ signInAt, log: parts.log }),
    ...pages.open({ signInAt, log: parts.log }),
    firstPage(root),
    choosePage(root),
  ];
  const document = documentSource(routes);
  const identify = async (context: Ctx): Promise<Identity | undefined> => {
    const { req } = context;
    if (!isWithToken(req.path)) return undefined;
    const token = bearerOf(req.header('authorization'));
    const provider = who.providerByToken(req.raw);
    if (provider) return { caller: provider };
    // Of metrics they see none: those are of all organizations.
    const isPerson = req.path !== METRICS_PATH && (await who.seenByLogin(req.raw)) !== undefined;
    if (isPerson && token !== undefined)
      return { caller: { name: 'a person', scope: 'read', token: hashOfToken(token) } };
    const id = req.path === METRICS_PATH ? undefined : await who.organizationOf(req.raw);
    if (id === undefined || token === undefined) return { caller: callerOf(req.header('authorization'), NOBODY) };
    return { caller: { name: `a token of ${id}`, scope: 'read', token: hashOfToken(token) } };
  };
  return guardedApp({ ...guards, identify, pages, document, absent }, routes);
}

/** With a token of all organizations each that has a problem is named; without one nobody learns which or how many there are. */
function readinessFor({ parts, who }: RootParts) {
  return async (context: Ctx) => {
    const broken = parts.list().filter(({ problem }) => problem !== undefined);
    // Where nobody can say who is signed in, it shows that the store does not answer, as to anybody.
    const isProvider = await who.isProvider(context.req.raw).catch(() => false);
    const own = await parts.readiness(isProvider);
    const whole = { name: 'organizations', isPartial: true as const };
    if (!isProvider) {
      const ok = broken.length === 0;
      const text = ok
        ? 'none is known to have a problem'
        : 'not all of them work: ask with a token of all organizations which do not';
      return [...own, { ...whole, ok, text }];
    }
    const text = `${parts.list().length} are configured, ${broken.length} with a problem`;
    const named = broken.map(({ id, problem }) => ({
      ...{ name: `organization ${id}`, ok: false, text: problem ?? '', isPartial: true as const },
    }));
    return [...own, { ...whole, ok: broken.length === 0, text }, ...named];
  };
}

/** Those that a request may see, by id. */
async function visible({ parts, who }: RootParts, { req }: Ctx, isPage: boolean): Promise<readonly OrganizationLine[]> {
  const all = [...parts.list()].sort((one, other) => (one.id < other.id ? -1 : 1));
  // A session opens pages, and a token what is for programs.
  if (isPage ? await who.providerInPages(req.raw) : who.providerByToken(req.raw)) return all;
  const maySee = isPage ? undefined : await who.seenByLogin(req.raw);
  if (maySee) return all.filter(({ id }) => maySee(id));
  const ids = new Set(isPage ? await who.signedInTo(req.raw) : [await who.organizationOf(req.raw)]);
  return all.filter(({ id }) => ids.has(id));
}

function found(lines: readonly OrganizationLine[], text: string | undefined): readonly OrganizationLine[] {
  const wanted = text?.trim().toLowerCase();
  if (!wanted) return lines;
  return lines.filter(({ id, name }) => `${id} ${name}`.toLowerCase().includes(wanted));
}

function organizationsRoute(root: RootParts): Route {
  return routeOf(ORGANIZATIONS, async (context, { limit, after = '', q }) => {
    const all = found(await visible(root, context, false), q);
    const rows = all.filter(({ id }) => id > after).slice(0, limit);
    const next = rows.length < limit ? null : (rows.at(-1)?.id ?? null);
    return json({ organizations: rows.map(viewOf), total: all.length, next });
  });
}

function viewOf({ id, name, problem }: OrganizationLine) {
  return { id, name, ok: problem === undefined, problem: problem ?? null };
}

/** Whoever sees one alone needs no choice. */
function firstPage(root: RootParts): Route {
  return {
    method: 'GET',
    path: '/',
    scope: undefined,
    handle: async (context) => {
      const [one, ...others] = await visible(root, context, true);
      if (!one && !(await root.who.providerInPages(context.req.raw))) return leadToSession(context);
      return leadTo(context, one && others.length === 0 ? `${CHOOSE_PATH}/${one.id}/` : CHOOSE_PATH);
    },
  };
}

function choosePage(root: RootParts): Route {
  return {
    method: 'GET',
    path: CHOOSE_PATH,
    scope: undefined,
    handle: async (context) => {
      const { q } = readQuery(context, z.strictObject({ q: z.string().max(200).optional() }));
      const all = await visible(root, context, true);
      if (all.length === 0 && !(await root.who.providerInPages(context.req.raw))) return leadToSession(context);
      const organizations = found(all, q).slice(0, CHOICES_MAX);
      return root.pages.choose(context, { organizations, total: all.length, text: q?.trim() || undefined });
    },
  };
}

/** A token leads to the sessions that it belongs to: those of its organization, or of all. */
function signingInAnywhere({ parts, owners, opened, ofAll, who }: RootParts): SigningIn {
  return {
    peek: (code) => ofAll.peek(code),
    withCode: (code) => ofAll.withCode(code),
    withToken: async (token) => {
      const provider = await ofAll.withToken(token);
      if (provider) return provider;
      const id = await owners.of(hashOfToken(token));
      return id === undefined ? undefined : (await opened.open(id)).signIn.withToken(token);
    },
    cookie: (signedIn) => ofAll.cookie(signedIn),
    ...atProvider(ofAll),
    signOut: async (cookieHeader) => {
      const taken = await ofAll.signOut(cookieHeader);
      for (const id of who.namedIn(cookieHeader ?? '')) {
        const outside = outsideOf(id, parts, ofAll);
        if (await outside.hasSession(cookieHeader)) taken.push(...(await outside.signOut(cookieHeader)));
      }
      return [...new Set(taken)];
    },
  };
}

function absent(context: Ctx): Problem {
  const { path } = context.req;
  const where = isUnderApi(path) ? `\`${ORGANIZATIONS_PATH}/ORG/…\`` : `\`${CHOOSE_PATH}\``;
  const isOurs = isUnderApi(path) || !isForMachines(path);
  const detail = isOurs
    ? `there is no \`${path}\` here: this endpoint has several organizations, name one in the path: ${where}`
    : `there is no \`${path}\``;
  return new Problem(404, isOurs ? NO_ORGANIZATION : 'not-found', 'Not found', detail);
}

export interface OrganizationsApp {
  app: Hono<Env>;
  /** Persons' pages, for a listener of their own. */
  people: Hono<Env>;
  /** Closes organizations that nobody used for long: to be called now and then. */
  closeUnused(): Promise<void>;
  /** The next request opens it anew; what is under way now has a while to end. */
  renew(id: string): void;
  close(): Promise<void>;
}

/** A path of an organization; only ids as files can have them. */
const OF_ORGANIZATION = /^((\/api)?\/orgs\/([a-z0-9][a-z0-9-]{0,62}))(?:\/|$)/;
/** Records name a token of all organizations so: no organization's own can have such a name. */
const PROVIDER = 'provider:';

export function createOrganizationsApp(given: OrganizationsParts, pages: OrganizationsPages): OrganizationsApp {
  const parts: OrganizationsParts = { ...given, verifyProvider: (hash) => named(given.verifyProvider(hash)) };
  const { clock, secret, address, publicUrl, log } = parts;
  const store = parts.signIns(undefined);
  const verifyHash = parts.verifyProvider;
  const ofProvider = { provider: parts.provider, named: () => opened.groups() };
  const persons = personsOf({ ...ofProvider, store, secret, clock, log, address, publicUrl });
  const ofAll = new SignIn({
    store,
    verifyHash,
    secret,
    clock,
    address,
    publicUrl,
    persons,
    hasLinks: parts.hasLinks ?? true,
  });
  const rates = new RateLimit(clock, parts.rateLimits);
  const opened = new OpenedOrganizations(parts, pages, ofAll, rates);
  const owners = new Owners((hash) => parts.organizationOf(hash), clock);
  const who = new Who(parts, owners, opened, ofAll);
  const shared = { parts, pages, owners, opened, ofAll };
  const guards = { clock, log, rates, publicUrl, hosts: parts.hosts, metrics: parts.metrics };
  const root = rootApp({ ...shared, who }, guards);
  const strangers = strangersApp(shared, { ...guards, document: documentSource([]) });
  const failures = new WeakMap<Request, unknown>();
  const failing = failingApp({ ...guards, pages, document: documentSource([]) }, failures);
  const [app, people] = [new Hono<Env>(), new Hono<Env>()];
  const ofNobody = pages.people(guards);
  const { hosts, peopleHost: listenHost = hosts.listenHost } = parts;
  const nobody = createPeopleApp({ ...guards, hosts: { ...hosts, listenHost } }, ofNobody, true);
  const failingPerson = failingApp({ ...guards, pages: ofNobody, document: documentSource([]) }, failures);

  // As an organization without such a transmitter answers.
  const none = { receive: async () => ({ status: 404, ...NO_TRANSMITTER }) as const };
  const nothing = { identify: () => undefined, pages: undefined, document: documentSource([]) };
  const nowhere = guardedApp({ ...guards, ...nothing }, [signalRoute(none)]);

  const failed = (request: Request, env: Env['Bindings'], error: unknown, to = failing) => {
    failures.set(request, error);
    return to.fetch(request, env);
  };
  const answered = async (request: Request, env: Env['Bindings'], id: string, mount: Mount | undefined) => {
    const within = { ...env, ...(mount && { mount }) };
    let place: Place;
    try {
      place = await opened.open(id);
    } catch (error) {
      return failed(request, within, error);
    }
    return opened.answer(place, () => place.app.fetch(request, within));
  };
  // INVARIANT: nothing of an organization is opened for a link that it did not make, and whether it is there shows in nothing.
  people.all('*', async ({ req: { raw }, env }) => {
    const asked = askedOf(raw);
    const path = pathWithin(raw, asked);
    if (!asked || !isPersonPath(path)) return nobody.fetch(raw, env);
    const within = { ...env, mount: asked };
    try {
      const { id } = asked.organization;
      const isOurs = await parts.isPersonLink(id, path.split('/')[2] ?? '');
      if (!isOurs || !parts.list().some((line) => line.id === id)) return nobody.fetch(raw, within);
      const place = await opened.open(id);
      return await opened.answer(place, () => place.people.fetch(raw, within));
    } catch (error) {
      return failed(raw, within, error, failingPerson);
    }
  });
  app.all('*', async ({ req: { raw }, env }) => {
    const asked = askedOf(raw);
    const lines = parts.list();
    const [only, ...others] = lines;
    if (!asked) {
      const path = getPath(raw);
      const isOwn = [ORGANIZATIONS_PATH, CHOOSE_PATH].includes(path) || isOfSignals(path);
      return only && others.length === 0 && !isOwn ? answered(raw, env, only.id, undefined) : root.fetch(raw, env);
    }
    const { id } = asked.organization;
    if (parts.peopleHost === undefined && isPersonPath(pathWithin(raw, asked))) return people.fetch(raw, env);
    if (isAsset(pathWithin(raw, asked))) return strangers.fetch(raw, { ...env, mount: asked });
    // Whoever pushes has no token of ours: the organization's own transmitters are asked.
    if (raw.method === 'POST' && SIGNAL_PATH.test(pathWithin(raw, asked))) {
      const known = lines.find((each) => each.id === id);
      if (!known) return nowhere.fetch(raw, { ...env, mount: asked });
      return answered(raw, env, id, { ...asked, organization: { id, name: known.name } });
    }
    let isMember: boolean;
    try {
      isMember = await who.belongsTo(raw, id);
    } catch (error) {
      return failed(raw, { ...env, mount: asked }, error);
    }
    const line = lines.find((each) => each.id === id);
    if (isMember && line) return answered(raw, env, id, { ...asked, organization: { id, name: line.name } });
    return strangers.fetch(raw, { ...env, mount: asked });
  });
  app.onError((error, { req }) => {
    log.error({}, `a request failed with an unexpected error: ${lineOf(error)}`);
    return problemResponse(UNFORESEEN, req.path);
  });
  return {
    app,
    people,
    closeUnused: () => opened.closeUnused(),
    renew: (id) => opened.renew(id),
    close: () => opened.close(),
  };
}

function named(caller: Caller | undefined): Caller | undefined {
  return caller && { ...caller, name: `${PROVIDER}${caller.name}` };
}

/** Undefined: the path names none. Nothing is decoded: one organization has one path. */
function askedOf({ url }: Request): Mount | undefined {
  const [, prefix = '', standsFor = '', id = ''] = OF_ORGANIZATION.exec(new URL(url).pathname) ?? [];
  if (id === '') return undefined;
  return { base: `${CHOOSE_PATH}/${id}`, prefix, standsFor, organization: { id, name: id } };
}

/** Answers what kept an organization from being opened, to who belongs to it. */
function failingApp(guards: Omit<Guards, 'identify'>, failures: WeakMap<Request, unknown>): Hono<Env> {
  const identify = ({ req }: { req: { raw: Request } }): never => {
    throw failures.get(req.raw);
  };
  return guardedApp({ ...guards, identify }, []);
}
