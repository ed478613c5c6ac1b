// http: signing in to the page, and out.
import { z } from 'zod';
import { isoTime } from '../../../base/time.ts';
import { SIGN_IN_LINK } from '../../../contract/endpoint.ts';
import type { Log } from '../../../domain/ports.ts';
import type { HttpDeps } from '../deps.ts';
import { baseOf } from '../mount.ts';
import { Problem } from '../problem.ts';
import { type Ctx, json, leadTo, type Route, readForm, routeOf } from '../route.ts';
import { RETURN_MAX, type SigningIn } from '../sign-in.ts';

const signInForm = z.strictObject({
  code: z.string().max(512).optional(),
  token: z.string().max(512).optional(),
  to: z.string().optional(),
});

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
  ];
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
