// http: which organizations a request may see, by its token or its cookies. In: a request. Out: all, some by id, or none. INVARIANT: a
// stranger to an organization is known as one before anything of it is opened, and by the same steps whether or not it exists.

import { hashOfToken } from '../../domain/endpoint-token.ts';
import { bearerOf } from '../auth.ts';
import type { SignIn } from '../sign-in.ts';
import type { Caller } from '../tokens.ts';
import type { OpenedOrganizations } from './opened.ts';
import type { Owners } from './owners.ts';
import type { OrganizationsParts } from './ports.ts';

/** Ids in cookies that a browser may have. */
const COOKIES_MAX = 50;
const COOKIE = /(?:^|;)\s*trustward-\d+-([a-z0-9-]+)=/g;

export class Who {
  constructor(
    private readonly parts: Pick<OrganizationsParts, 'verifyProvider' | 'list'>,
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

  /** Who asks with a session of such a token. */
  providerInPages({ headers }: Request): Caller | undefined {
    return this.ofAll.callerOf(headers.get('cookie') ?? undefined)?.caller;
  }

  isProvider(request: Request): boolean {
    return (this.providerByToken(request) ?? this.providerInPages(request)) !== undefined;
  }

  /** The organization of the request's token. Errors: AppError. */
  async organizationOf({ headers }: Request): Promise<string | undefined> {
    const token = bearerOf(headers.get('authorization') ?? undefined);
    return token === undefined ? undefined : this.owners.of(hashOfToken(token));
  }

  /** Whether the request may be shown to an organization of this name. It may not exist. Errors: AppError. */
  async belongsTo(request: Request, id: string): Promise<boolean> {
    if (this.isProvider(request)) return true;
    if ((await this.organizationOf(request)) === id) return true;
    const cookie = request.headers.get('cookie') ?? undefined;
    return this.opened.now(id)?.signIn.callerOf(cookie) !== undefined;
  }

  /** The organizations that a browser is signed in to. */
  signedInTo({ headers }: Request): string[] {
    const cookie = headers.get('cookie') ?? '';
    const named = [...new Set([...cookie.matchAll(COOKIE)].map(([, id]) => id as string))].slice(0, COOKIES_MAX);
    return named.filter((id) => this.opened.now(id)?.signIn.callerOf(cookie) !== undefined);
  }
}
