// http: what an endpoint of several organizations answers by itself: its health, the list of organizations, choosing one, signing in. In:
// who may see which. Out: a Hono app for the paths that belong to no organization.
import type { Hono } from 'hono';
import { z } from 'zod';
import { hashOfToken } from '../../domain/endpoint-token.ts';
import { documentSource } from '../app.ts';
import { bearerOf, callerOf } from '../auth.ts';
import { type Guards, guardedApp, type Identity } from '../guarded-app.ts';
import { leadToSession } from '../guarded-page.ts';
import { limitField, nameField, readQuery } from '../input.ts';
import { operation } from '../operation.ts';
import { pageSchema, total } from '../paging.ts';
import { isForMachines, isUnderApi, isWithToken, METRICS_PATH } from '../path.ts';
import { Problem } from '../problem.ts';
import { type Ctx, type Env, json, leadTo, type Route } from '../route.ts';
import { healthRoutes } from '../routes/health.ts';
import { metricsRoute } from '../routes/metrics.ts';
import { openapiRoute } from '../routes/openapi.ts';
import type { SigningIn } from '../sign-in.ts';
import { outsideOf } from './outside.ts';
import type { OrganizationLine } from './ports.ts';
import { NOBODY, type StrangersParts } from './strangers.ts';
import type { Who } from './who.ts';

export const ORGANIZATIONS_PATH = '/api/orgs';
export const CHOOSE_PATH = '/orgs';

const CHOICES_MAX = 200;

const line = z
  .strictObject({
    id: z.string().describe('as paths name it: `/api/orgs/ID/…`'),
    name: z.string(),
    ok: z.boolean(),
    problem: z.union([z.string(), z.null()]).describe('what is wrong with it; null: nothing'),
  })
  .meta({ id: 'Organization' });

interface RootParts extends StrangersParts {
  who: Who;
}

export function rootApp(root: RootParts, guards: Omit<Guards, 'identify' | 'pages' | 'document'>): Hono<Env> {
  const { parts, pages, who } = root;
  const signInAt = () => signingInAnywhere(root);
  const routes: Route[] = [
    ...healthRoutes({ readiness: readinessFor(root), demo: false }),
    organizationsRoute(root),
    metricsRoute(parts),
    openapiRoute(() => document()),
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
  const ids = new Set(isPage ? await who.signedInTo(req.raw) : [await who.organizationOf(req.raw)]);
  return all.filter(({ id }) => ids.has(id));
}

function found(lines: readonly OrganizationLine[], text: string | undefined): readonly OrganizationLine[] {
  const wanted = text?.trim().toLowerCase();
  if (!wanted) return lines;
  return lines.filter(({ id, name }) => `${id} ${name}`.toLowerCase().includes(wanted));
}

function organizationsRoute(root: RootParts): Route {
  return operation({
    method: 'GET',
    path: ORGANIZATIONS_PATH,
    scope: 'read',
    operationId: 'listOrganizations',
    tag: 'organizations',
    summary: 'List the organizations of the token',
    description: 'A token of one organization lists that one. By id.',
    query: z.strictObject({
      limit: limitField,
      after: nameField.optional().describe('`next` of the page before'),
      q: z.string().max(200).optional().describe('a part of the id or the name'),
    }),
    answers: { 200: { description: 'a page of organizations', schema: pageSchema('organizations', line, { total }) } },
    handle: async (context, { query: { limit, after = '', q } }) => {
      const all = found(await visible(root, context, false), q);
      const rows = all.filter(({ id }) => id > after).slice(0, limit);
      const next = rows.length < limit ? null : (rows.at(-1)?.id ?? null);
      return json({ organizations: rows.map(viewOf), total: all.length, next });
    },
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
  return new Problem(404, 'not-found', 'Not found', detail);
}
