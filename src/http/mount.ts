// http: where an app stands among the paths of an endpoint of several organizations. In: a request, and the prefix that was matched. Out:
// its path as the app knows it, and the addresses that a client may use. An app that stands alone has no mount.
import { getPath } from 'hono/utils/url';

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
