// http: where an app stands among the paths of an endpoint of several organizations. In: a request, and the prefix that was matched. Out:
// its path as the app knows it, and the addresses that a client may use. An app that stands alone has no mount.
import { getPath } from 'hono/utils/url';
import { METRICS_PATH } from '../../contract/endpoint.ts';
import { PEOPLE_PATH } from '../../domain/person-link.ts';

export interface Mount {
  /** What the paths of its pages begin with, as a browser sends them: `/orgs/acme`. */
  base: string;
  /** What this request's path begins with: `/orgs/acme` or `/api/orgs/acme`. */
  prefix: string;
  /** What stands for the prefix inside of the app: empty, or `/api`. */
  standsFor: string;
  organization: { id: string; name: string };
}

/** The path as an app knows it: without its prefix. */
export function pathWithin(request: Request, mount: Mount | undefined): string {
  const path = getPath(request);
  if (!mount) return path;
  return `${mount.standsFor}${path.slice(mount.prefix.length)}` || '/';
}

/** As much of a request's context as this needs. */
interface Asked {
  env: { mount?: Mount } | undefined;
  req: { url: string; raw: Request };
}

export function mountOf({ env }: Asked): Mount | undefined {
  return env?.mount;
}

/** What the paths of pages begin with; empty for an app that stands alone. */
export function baseOf(context: Asked): string {
  return mountOf(context)?.base ?? '';
}

/** The path of a page, with its query, as the pages know it: without their base. */
export function pageAsked(context: Asked): string {
  const { pathname, search } = new URL(context.req.url);
  return `${pathname.slice(baseOf(context).length) || '/'}${search}`;
}

/** What a path of the app is for the client of this request. */
export function sentAs(context: Asked, path: string): string {
  const mount = mountOf(context);
  return mount ? `${mount.prefix}${path.slice(mount.standsFor.length)}` : path;
}

/** The path of the request as its client sent it. */
export function sentPath(context: Asked): string {
  return getPath(context.req.raw);
}

/** Also at a path that is none of theirs: a client that changed an address still sends the link in it. */
const LINK = new RegExp(`(?<=${PEOPLE_PATH}/)[^/]+|[\\w-]{40,}`, 'gi');

/** The same for a log: the link of a person is left out. */
export function shownPath(path: string): string {
  return path.replace(LINK, '…');
}

// Whether a path matches that of a route, and whom it is for.

/** Where the identity provider says that a session ended. */
export const LOGOUT_PATH = '/sign-in/ended';

const FOR_MACHINES = /^\/(api|healthz|readyz|metrics|openapi\.json|signals|\.well-known|sign-in\/(ended|device))(\/|$)/;

/** The other paths are pages for people, when there are pages. */
export function isForMachines(path: string): boolean {
  return FOR_MACHINES.test(path);
}

/** A file that pages load, which is for anybody: who asks does not matter, and need not be known. */
export function isAsset(path: string): boolean {
  return path.startsWith('/assets/');
}

/** Where a bearer token is needed, and no session counts. */
export function isWithToken(path: string): boolean {
  return isUnderApi(path) || path === METRICS_PATH;
}

export function isUnderApi(path: string): boolean {
  return path === '/api' || path.startsWith('/api/');
}

/** Each segment with a colon matches one segment that is not empty. */
export function matchesPath(pattern: string, path: string): boolean {
  const wanted = pattern.split('/');
  const given = path.split('/');
  return (
    wanted.length === given.length &&
    wanted.every((segment, index) => (segment.startsWith(':') ? given[index] !== '' : segment === given[index]))
  );
}
