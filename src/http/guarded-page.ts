// http: what is asked before a page is answered: our own Origin for every form, a session, and its scope. In: a route of the pages.
// Out: the same route, guarded. INVARIANT: the caller comes from the session alone, never from a header that a page could set.
import { demandScope } from './auth.ts';
import type { HttpDeps } from './deps.ts';
import { demandOrigin } from './origin.ts';
import { Problem } from './problem.ts';
import { type Ctx, callerIfAny, type Route } from './route.ts';

export function guardedPage(route: Route, deps: Pick<HttpDeps, 'publicUrl'>): Route {
  const { method, scope, handle } = route;
  return {
    ...route,
    handle: (context) => {
      if (method === 'POST') demandOrigin(context, deps.publicUrl);
      if (scope === undefined) return handle(context);
      const caller = callerIfAny(context);
      if (!caller && method === 'GET') return context.redirect(signInPath(context), 303);
      if (!caller) throw notSignedIn();
      demandScope(caller, scope);
      return handle(context);
    },
  };
}

function signInPath({ req }: Ctx): string {
  const { pathname, search } = new URL(req.url);
  const to = `${pathname}${search}`;
  return to === '/' ? '/sign-in' : `/sign-in?to=${encodeURIComponent(to)}`;
}

function notSignedIn(): Problem {
  const detail = 'your session has ended, and nothing was done: sign in at `/sign-in`, then do it again';
  return new Problem(401, 'unauthorized', 'You are not signed in', detail);
}
