// http: signing in to the page, and out.
import { z } from 'zod';
import { isoTime } from '../../../base/time.ts';
import { LOGIN_BEGIN, LOGIN_END, LOGIN_POLL, SIGN_IN_LINK } from '../../../contract/endpoint.ts';
import { actorText } from '../../../domain/actor.ts';
import type { Log } from '../../../domain/ports.ts';
import { type HttpDeps, networkOf } from '../deps.ts';
import { baseOf, LOGOUT_PATH } from '../mount.ts';
import { FROM_PROVIDER_PATH, type Persons, TO_PROVIDER_PATH } from '../persons.ts';
import { Problem } from '../problem.ts';
import { type Ctx, json, leadTo, type Route, readForm, routeOf } from '../route.ts';
import { RETURN_MAX, type SigningIn } from '../sign-in.ts';

const signInForm = z.strictObject({
  code: z.string().max(512).optional(),
  token: z.string().max(512).optional(),
  to: z.string().optional(),
});

const logoutForm = z.object({ logout_token: z.string().max(32_768) });

/** A link for whoever holds a token, with its scope and name. */
export function signInLinkRoute({ signIn }: Pick<HttpDeps, 'signIn'>): Route {
  return routeOf(SIGN_IN_LINK, async (context) => {
    const { url, expiresAtMs } = await signIn.link(context.var.caller, baseOf(context));
    return json({ url, expiresAt: isoTime(expiresAtMs) }, 201);
  });
}

export interface SignInParts {
  signInAt(context: Ctx): SigningIn;
  /** `trustward open` makes links that lead here. */
  opensByCommand: boolean;
  log: Log;
}

/** The answers to the forms of the sign-in page, and of the button that ends a session. */
export function signInRoutes({ signInAt, opensByCommand, log }: SignInParts): Route[] {
  return [
    {
      method: 'POST',
      path: '/sign-in',
      scope: undefined,
      handle: async (context) => {
        const { code, token, to } = await readForm(context, signInForm);
        const signIn = signInAt(context);
        const signedIn = await (code === undefined ? signIn.withToken(token?.trim() ?? '') : signIn.withCode(code));
        if (!signedIn) throw (code === undefined ? unknownToken : usedUp)(opensByCommand, localPath(to));
        await signIn.signOut(context.req.header('cookie'));
        const { name } = signedIn.caller;
        log.info({ by: name }, `${name} signed in to the page`);
        context.header('Set-Cookie', signIn.cookie(signedIn));
        return leadTo(context, localPath(to));
      },
    },
    {
      method: 'POST',
      path: '/sign-out',
      scope: undefined,
      handle: async (context) => {
        for (const cookie of await signInAt(context).signOut(context.req.header('cookie')))
          context.header('Set-Cookie', cookie, { append: true });
        return leadTo(context, '/sign-in');
      },
    },
    {
      method: 'GET',
      path: TO_PROVIDER_PATH,
      scope: undefined,
      handle: async (context) => {
        const to = localPath(context.req.query('to'));
        const signIn = signInAt(context);
        const { url, cookie } = await signIn.toProvider(to).catch(onItsPage(to));
        // Whoever comes back brings no other session along: the browser keeps its cookie at home then. A link of another site ends none.
        const taken =
          context.req.header('sec-fetch-site') === 'cross-site'
            ? []
            : await signIn.signOut(context.req.header('cookie'));
        for (const each of [...taken, cookie]) context.header('Set-Cookie', each, { append: true });
        return context.redirect(url, 303);
      },
    },
    {
      method: 'GET',
      path: FROM_PROVIDER_PATH,
      scope: undefined,
      handle: async (context) => {
        const { search } = new URL(context.req.url);
        const signIn = signInAt(context);
        const back = signIn.fromProvider(context.req.header('cookie'), search);
        const { caller, to, cookies } = await back.catch(onItsPage('/'));
        log.info({ by: caller.name }, `${caller.name} signed in to the page`);
        for (const cookie of cookies) context.header('Set-Cookie', cookie, { append: true });
        return context.redirect(localPath(to), 303);
      },
    },
    {
      // Sent by the provider itself, which has no session, no token and no Origin: the token in its form says all.
      method: 'POST',
      path: LOGOUT_PATH,
      scope: undefined,
      handle: async (context) => {
        await personsAt(signInAt(context)).end((await readForm(context, logoutForm)).logout_token);
        return new Response(null, { status: 200, headers: { 'Cache-Control': 'no-store' } });
      },
    },
  ];
}

/** Signing in a command on another machine, with or without pages. */
export function loginRoutes({ signInAt, log }: Omit<SignInParts, 'opensByCommand'>): Route[] {
  return [
    routeOf(LOGIN_BEGIN, async (context) => {
      const network = networkOf(context.env?.incoming?.socket?.remoteAddress ?? '');
      const begun = await personsAt(signInAt(context)).beginLogin(network);
      const { code, userCode, verificationUri, completeUri = null, expiresInS, intervalS } = begun;
      const times = { expiresInSeconds: Math.floor(expiresInS), intervalSeconds: Math.ceil(intervalS) };
      return json({ code, userCode, verificationUri, completeUri, ...times }, 201, NOT_KEPT);
    }),
    routeOf(LOGIN_POLL, async (context, { code }) => {
      const polled = await personsAt(signInAt(context)).polledLogin(code);
      if ('intervalS' in polled) return json({ intervalSeconds: Math.ceil(polled.intervalS) }, 202, NOT_KEPT);
      const { caller, session } = polled;
      log.info({ by: caller.name }, `${caller.name} signed in with a command`);
      return json({ session, person: actorText(caller.name) }, 200, NOT_KEPT);
    }),
    routeOf(LOGIN_END, async (context, { session }) =>
      json({ ended: await personsAt(signInAt(context)).endLogin(session) }),
    ),
  ];
}

const NOT_KEPT = { 'Cache-Control': 'no-store' };

/** Errors: Problem 404. */
function personsAt({ persons }: SigningIn): Persons {
  if (persons) return persons;
  const detail =
    'no identity provider is configured here (TRUSTWARD_OIDC_ISSUER): use a token, which `trustward tokens add NAME --scope SCOPE` makes';
  throw new Problem(404, 'no-provider', 'There is no identity provider', detail);
}

/** What went wrong at the provider is shown where a person may try again, or sign in another way. */
function onItsPage(signInTo: string) {
  return (error: unknown): never => {
    if (!(error instanceof Problem)) throw error;
    const { status, slug, title, problemDetail, more } = error;
    throw new Problem(status, slug, title, problemDetail, { ...more, signInTo });
  };
}

/** Where to go after signing in: a path of ours, otherwise the first page. A browser reads `//` and `/\\` as another host. */
function localPath(to: string | undefined): string {
  return to !== undefined && to.length <= RETURN_MAX && /^\/(?![/\\])[\x21-\x7e]*$/.test(to) ? to : '/';
}

function usedUp(opensByCommand: boolean, signInTo: string): Problem {
  const then = opensByCommand ? 'run `trustward open` for a new one' : 'sign in with a token';
  const detail = `the link is unknown, was used already, or is older than ten minutes: ${then}`;
  return new Problem(401, 'unauthorized', 'The link cannot be used', detail, { signInTo });
}

function unknownToken(opensByCommand: boolean, signInTo: string): Problem {
  const then = opensByCommand
    ? 'run `trustward open` for a link'
    : 'make a new one with `trustward tokens add NAME --scope SCOPE`';
  const detail = `the token is unknown, revoked or expired: check it, or ${then}`;
  return new Problem(401, 'unauthorized', 'The token is not valid', detail, { signInTo });
}
