// http: which organizations a request may see, by its token or its cookies. In: a request. Out: all, some by id, or none. INVARIANT: a
// stranger to an organization is known as one before anything of it is opened, and by the same steps whether or not it exists.

import { hashOfToken } from '../../domain/endpoint-token.ts';
import { bearerOf } from '../auth.ts';
import type { SignIn } from '../sign-in.ts';
import type { Caller } from '../tokens.ts';
import type { OpenedOrganizations } from './opened.ts';
import { outsideOf, type SigningParts } from './outside.ts';
import type { Owners } from './owners.ts';
import type { OrganizationsParts } from './ports.ts';

/** Ids in cookies that a browser may have: each is a question to the store. */
const COOKIES_MAX = 20;
const COOKIE = /(?:^|;)\s*trustward-\d+-([a-z0-9-]+)=/g;

export class Who {
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

  /** Whether the request may be shown to an organization of this name. It may not exist. Errors: AppError. */
  async belongsTo(request: Request, id: string): Promise<boolean> {
    if (await this.isProvider(request)) return true;
    if ((await this.organizationOf(request)) === id) return true;
    const cookie = request.headers.get('cookie') ?? undefined;
    return outsideOf(id, this.parts, this.ofAll).hasSession(cookie);
  }

  /** The organizations that a browser is signed in to. Errors: AppError. */
  async signedInTo({ headers }: Request): Promise<string[]> {
    const cookie = headers.get('cookie') ?? '';
    const found: string[] = [];
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
