// http: what is asked before a page is answered: our own Origin for every form, a session, and its scope. In: a route of the pages.
// Out: the same route, guarded. INVARIANT: the caller comes from the session alone, never from a header that a page could set.
import { html } from 'hono/html';
import { demandScope } from './auth.ts';
import type { HttpDeps } from './deps.ts';
import { baseOf, pageAsked } from './mount.ts';
import { demandOrigin } from './origin.ts';
import { Problem } from './problem.ts';
import { type Ctx, callerIfAny, leadTo, type Route } from './route.ts';
import { RETURN_MAX } from './sign-in.ts';

export function guardedPage(route: Route, deps: Pick<HttpDeps, 'publicUrl'>): Route {
  const { method, scope, handle } = route;
  return {
    ...route,
    handle: (context) => {
      if (method === 'POST') demandOrigin(context, deps.publicUrl);
      if (scope === undefined) return handle(context);
      const caller = callerIfAny(context);
      if (!caller && method === 'GET') return leadToSession(context);
      if (!caller) throw notSignedIn(context);
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

export function notSignedIn(context: Ctx): Problem {
  const detail = `your session has ended, and nothing was done: sign in at \`${baseOf(context)}/sign-in\`, then do it again`;
  return new Problem(401, 'unauthorized', 'You are not signed in', detail);
}
