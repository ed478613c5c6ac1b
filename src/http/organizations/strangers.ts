// http: the answers to who belongs to no organization of the name that a path has: whether there is one of it or not, they are the same. In:
// who signs in here. Out: a Hono app, which knows no organization: a token is needed, or a person is led to sign in.
import type { Hono } from 'hono';
import { hashOfToken } from '../../domain/endpoint-token.ts';
import { callerOf } from '../auth.ts';
import { type Guards, guardedApp } from '../guarded-app.ts';
import { mountOf } from '../mount.ts';
import { isWithToken } from '../path.ts';
import type { Ctx, Env, Route } from '../route.ts';
import type { SignIn, SigningIn } from '../sign-in.ts';
import type { OpenedOrganizations } from './opened.ts';
import { outsideOf } from './outside.ts';
import type { Owners } from './owners.ts';
import type { OrganizationsPages, OrganizationsParts } from './ports.ts';

/** No token is known. */
export const NOBODY = { verifyToken: () => undefined };

export interface StrangersParts {
  parts: OrganizationsParts;
  pages: OrganizationsPages;
  owners: Owners;
  opened: OpenedOrganizations;
  ofAll: SignIn;
}

export function strangersApp(strangers: StrangersParts, guards: Omit<Guards, 'identify' | 'pages'>): Hono<Env> {
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
    signOut: (cookieHeader) => outside.signOut(cookieHeader),
  };
}
