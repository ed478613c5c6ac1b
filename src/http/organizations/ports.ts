// http: the ports of an endpoint of several organizations. compose provides them. INVARIANT: what belongs to one organization comes from
// `open` alone, so that nothing of the others can be reached by its tokens, sessions or paths.
import type { HostPolicy } from '../../domain/hosts.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import type { SignInStore } from '../../domain/sign-in.ts';
import type { HttpDeps, MetricsPort, ReadyCheck } from '../deps.ts';
import type { Pages } from '../pages.ts';
import type { RateLimits } from '../rate-limit.ts';
import type { Ctx, Route } from '../route.ts';
import type { SignInParts } from '../routes/sign-in.ts';
import type { Caller } from '../tokens.ts';

export interface OrganizationLine {
  /** As paths name it: lower-case letters, digits and hyphens. */
  id: string;
  name: string;
  /** What is wrong with it, one line; undefined: nothing. */
  problem: string | undefined;
}

/** One organization, ready to answer. */
export interface OpenedOrganization {
  deps: Omit<HttpDeps, 'verifyToken' | 'signIn' | 'rates' | 'rateLimits'>;
  /** The owner of a token of this organization alone, by its hash: 64 hex digits. */
  verifyHash(hash: string): Caller | undefined;
  close(): Promise<void>;
}

export interface OrganizationsParts {
  /** All that are configured, now. It answers from memory. */
  list(): readonly OrganizationLine[];
  /** Errors: AppError. It is asked once until the organization is closed. */
  open(id: string): Promise<OpenedOrganization>;
  /** Which organization a token belongs to, by its hash. It must not open one to know. Errors: AppError. */
  organizationOf(tokenHash: string): Promise<string | undefined>;
  /** The owner of a token of all organizations, by its hash. */
  verifyProvider(tokenHash: string): Caller | undefined;
  /** Who is signed in to an organization; undefined: with a token of all. It must neither open the organization nor need it to be there. */
  signIns(organization: string | undefined): SignInStore;
  /** Of the process alone. `isNamed`: organizations may be named, for who may see all of them. */
  readiness(isNamed: boolean): Promise<readonly ReadyCheck[]>;
  metrics: MetricsPort;
  /** 256 random bits as text. */
  secret(): string;
  clock: Clock;
  log: Log;
  hosts: HostPolicy;
  publicUrl: string | undefined;
  rateLimits: RateLimits | undefined;
  /** The address that the endpoint listens on, with its port. */
  address(): string;
}

/** What a person sees who chooses among organizations. */
export interface Choice {
  organizations: readonly OrganizationLine[];
  /** Those that there are to choose from. */
  total: number;
  /** The text that they were searched for. */
  text: string | undefined;
}

/** The pages of such an endpoint: src/web builds them. */
export interface OrganizationsPages {
  of(deps: HttpDeps): Pages;
  /** For who is not signed in: files that pages load, and the form to sign in. They show nothing of any organization. */
  open(parts: Omit<SignInParts, 'opensByCommand'>): Route[];
  choose(context: Ctx, choice: Choice): Promise<Response>;
  problem: Pages['problem'];
}
