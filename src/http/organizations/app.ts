// http: an endpoint of several organizations. In: ports. Out: a Hono app that shows each request to the app of its organization, under
// `/orgs/ID/…` for people and `/api/orgs/ID/…` for programs, and answers the other paths itself. Where one organization is configured alone,
// the other paths are those of it.
import { Hono } from 'hono';
import { getPath } from 'hono/utils/url';
import { lineOf } from '../../domain/errors.ts';
import { documentSource } from '../app.ts';
import { type Guards, guardedApp } from '../guarded-app.ts';
import { type Mount, pathWithin } from '../mount.ts';
import { isAsset } from '../path.ts';
import { problemResponse, UNFORESEEN } from '../problem.ts';
import { RateLimit } from '../rate-limit.ts';
import type { Env } from '../route.ts';
import { SignIn } from '../sign-in.ts';
import type { Caller } from '../tokens.ts';
import { OpenedOrganizations, type Place } from './opened.ts';
import { Owners } from './owners.ts';
import type { OrganizationsPages, OrganizationsParts } from './ports.ts';
import { CHOOSE_PATH, ORGANIZATIONS_PATH, rootApp } from './root.ts';
import { strangersApp } from './strangers.ts';
import { Who } from './who.ts';

export interface OrganizationsApp {
  app: Hono<Env>;
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
  const ofAll = new SignIn({ store, verifyHash: parts.verifyProvider, secret, clock, address, publicUrl });
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
  const app = new Hono<Env>();

  const failed = (request: Request, env: Env['Bindings'], error: unknown) => {
    failures.set(request, error);
    return failing.fetch(request, env);
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
  app.all('*', async ({ req: { raw }, env }) => {
    const asked = askedOf(raw);
    const lines = parts.list();
    const [only, ...others] = lines;
    if (!asked) {
      const isOwn = [ORGANIZATIONS_PATH, CHOOSE_PATH].includes(getPath(raw));
      return only && others.length === 0 && !isOwn ? answered(raw, env, only.id, undefined) : root.fetch(raw, env);
    }
    const { id } = asked.organization;
    if (isAsset(pathWithin(raw, asked))) return strangers.fetch(raw, { ...env, mount: asked });
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
