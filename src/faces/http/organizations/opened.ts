// http: the organizations that are open in this process: each is opened when it is first asked, kept while it is in use, and closed when
// nobody asked it for long. In: an id. Out: its app. Who is signed in is kept elsewhere, so closing ends no session. Only a bounded number is open at a time.

import type { Hono } from 'hono';
import type { HostPolicy } from '../../../base/hosts.ts';
import { groupsOf } from '../../../domain/approvals.ts';
import type { AuditNote } from '../../../domain/audit-entry.ts';
import { type Caller, hashOfToken, type SignInStore } from '../../../domain/endpoint-token.ts';
import { lineOf } from '../../../domain/errors.ts';
import type { Clock, Log } from '../../../domain/ports.ts';
import { createHttpApp } from '../app.ts';
import type { HttpDeps, MetricsPort, RateLimit, RateLimits, ReadyCheck } from '../deps.ts';
import { createPeopleApp, type PeopleDeps } from '../people.ts';
import type { ProviderSettings } from '../provider.ts';
import type { Ctx, Env, Pages, Route } from '../route.ts';
import type { SignInParts } from '../routes/sign-in.ts';
import { SignIn } from '../sign-in.ts';
import { STREAMS_MAX } from '../stream/event-feed.ts';

// The ports of an endpoint of several organizations. compose provides them. INVARIANT: what belongs to one organization
// comes from `open` alone, so that nothing of the others can be reached by its tokens, sessions or paths.

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
  /** To its audit. */
  append(notes: AuditNote[]): Promise<unknown>;
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
  /** Where persons sign in; undefined: nowhere. */
  provider?: ProviderSettings | undefined;
  /** False: there are no one-time links. */
  hasLinks?: boolean;
  /** Who is signed in to an organization; undefined: with a token of all, and persons. It must neither open the organization nor need it to be there. */
  signIns(organization: string | undefined): SignInStore;
  /** Whether an organization made this link of a person; it may not be there. It must not open one to know. Errors: AppError. */
  isPersonLink(id: string, token: string): Promise<boolean>;
  /** The public keys of an organization's signals; none where it has none, or is not there. It must not open one to know. Errors: AppError. */
  signalKeys?(id: string): Promise<object[]>;
  /** Where persons' pages have a listener of their own; undefined: they are among the others. */
  peopleHost: string | undefined;
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

/** The pages of such an endpoint: src/faces/web builds them. */
export interface OrganizationsPages {
  of(deps: HttpDeps): Pages;
  /** For who has a link, and is nobody else here. */
  people(deps: PeopleDeps): Pages;
  /** For who is not signed in: files that pages load, and the form to sign in. They show nothing of any organization. */
  open(parts: Omit<SignInParts, 'opensByCommand'>): Route[];
  choose(context: Ctx, choice: Choice): Promise<Response>;
  problem: Pages['problem'];
}

export type SigningParts = Pick<
  OrganizationsParts,
  'signIns' | 'secret' | 'clock' | 'address' | 'publicUrl' | 'hasLinks'
>;

/** @param verifyHash the owner of a token of it, or of all. */
function signInAt(
  id: string,
  { signIns, ...parts }: SigningParts,
  outer: SignIn,
  verifyHash: (hash: string) => Caller | undefined,
  append?: OpenedOrganization['append'],
): SignIn {
  const { secret, clock, address, publicUrl, hasLinks = true } = parts;
  const common = { secret, clock, address, publicUrl, hasLinks, organization: id, outer };
  return new SignIn({ store: signIns(id), verifyHash, ...common, ...(append && { append }) });
}

export function outsideOf(id: string, parts: SigningParts, outer: SignIn): Outside {
  return signInAt(id, parts, outer, () => undefined);
}

type Outside = Pick<SignIn, 'hasSession' | 'hasLink' | 'signOut'>;

/** Without a request or a stream. */
const UNUSED_MS = 15 * 60_000;
const OPEN_MAX = 400;
/** After opening failed: not one attempt for each request. */
const RETRY_MS = 5_000;
/** Requests under way have this long, once their organization is opened anew. */
const LEAVE_MS = 10_000;

export interface Place {
  id: string;
  app: Hono<Env>;
  /** Persons' pages. */
  people: Hono<Env>;
  signIn: SignIn;
  rules: HttpDeps['rules'];
  close(): Promise<void>;
  /** Requests and streams. */
  underWay: number;
  streams: number;
  usedAtMs: number;
}

interface Failed {
  error: unknown;
  atMs: number;
}

export class OpenedOrganizations {
  private readonly places = new Map<string, Place>();
  private readonly opening = new Map<string, Promise<Place>>();
  private readonly failed = new Map<string, Failed>();
  private readonly leaving = new Set<Promise<void>>();
  private readonly ending = new AbortController();
  /** Of all organizations, also of those that are being left. */
  private streams = 0;

  constructor(
    private readonly parts: OrganizationsParts,
    private readonly pages: OrganizationsPages,
    /** Sessions of tokens of all organizations. */
    private readonly ofAll: SignIn,
    private readonly rates: RateLimit,
    private readonly openMax = OPEN_MAX,
  ) {}

  /** Undefined: not open now. */
  now(id: string): Place | undefined {
    return this.places.get(id);
  }

  /** Those that the rules of open ones name: what a person writes is written in an open one. */
  groups(): string[] {
    return [...this.places.values()].flatMap(({ rules }) => groupsOf(rules()));
  }

  get size(): number {
    return this.places.size;
  }

  /** Errors: those of opening it, for a while without trying again. */
  async open(id: string): Promise<Place> {
    const place = this.places.get(id);
    if (place) return place;
    const failed = this.failed.get(id);
    const { clock } = this.parts;
    if (failed && clock.monotonicMs() - failed.atMs < RETRY_MS) throw failed.error;
    this.failed.delete(id);
    const opening = this.opening.get(id) ?? this.begin(id);
    this.opening.set(id, opening);
    return opening;
  }

  /** Its answer to a request; it is not closed meanwhile. */
  async answer(place: Place, work: () => Response | Promise<Response>): Promise<Response> {
    place.underWay += 1;
    try {
      return await work();
    } finally {
      place.underWay -= 1;
      place.usedAtMs = this.parts.clock.monotonicMs();
    }
  }

  /** Closes those that nobody used for long, and those that are not configured any more. */
  async closeUnused(): Promise<void> {
    const nowMs = this.parts.clock.monotonicMs();
    const known = new Set(this.parts.list().map(({ id }) => id));
    const unused = [...this.places.values()].filter((place) => !known.has(place.id) || isIdle(place, nowMs));
    await this.closeAll(unused);
  }

  renew(id: string): void {
    const opening = this.opening.get(id);
    if (opening) {
      // It may have been read from what is old already.
      const again = () => this.renew(id);
      opening.then(again, again);
      return;
    }
    const place = this.places.get(id);
    this.failed.delete(id);
    if (!place) return;
    this.places.delete(id);
    const left = this.leave(place).finally(() => this.leaving.delete(left));
    this.leaving.add(left);
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.opening.values());
    this.ending.abort();
    await Promise.all(this.leaving);
    await this.closeAll([...this.places.values()]);
  }

  /** Streams end with it: their clients ask again, and reach the new one. */
  private async leave(place: Place): Promise<void> {
    await this.parts.clock.sleep(LEAVE_MS, this.ending.signal).catch(() => {});
    await this.closeAll([place]);
  }

  private async begin(id: string): Promise<Place> {
    try {
      await this.makeRoom();
      const place = this.placeOf(id, await this.parts.open(id));
      this.places.set(id, place);
      return place;
    } catch (error) {
      this.failed.set(id, { error, atMs: this.parts.clock.monotonicMs() });
      throw error;
    } finally {
      this.opening.delete(id);
    }
  }

  private placeOf(id: string, { deps, verifyHash: ownHash, append, close }: OpenedOrganization): Place {
    const { clock, verifyProvider } = this.parts;
    // INVARIANT: nothing else opens this organization: its own tokens, and those of all.
    const verifyHash = (hash: string) => ownHash(hash) ?? verifyProvider(hash);
    const signIn = signInAt(id, this.parts, this.ofAll, verifyHash, append);
    const whole: HttpDeps = {
      ...deps,
      verifyToken: (token) => verifyHash(hashOfToken(token)),
      ...{ signIn, rates: this.rates, rateLimits: undefined },
      streamsMax: () => this.streamsMax(),
      metrics: {
        ...deps.metrics,
        streams: (open) => {
          this.streams += open - place.streams;
          place.streams = open;
          deps.metrics.streams(open);
        },
      },
    };
    const app = createHttpApp(whole, this.pages.of(whole));
    const { hosts, peopleHost: listenHost = hosts.listenHost } = { ...this.parts, hosts: whole.hosts };
    const people = createPeopleApp({ ...whole, hosts: { ...hosts, listenHost } }, this.pages.people(whole), false);
    const { rules } = deps;
    const unused = { underWay: 0, streams: 0, usedAtMs: clock.monotonicMs() };
    const place: Place = { id, app, people, signIn, rules, close, ...unused };
    return place;
  }

  /** INVARIANT: who has streams already never takes the last free place: there is one left for every other organization. */
  private streamsMax(): number {
    return this.parts.list().length > 1 ? STREAMS_MAX - this.streams : STREAMS_MAX;
  }

  /** The longest unused gives way. Nobody is cut off: then there is one more than the bound. */
  private async makeRoom(): Promise<void> {
    if (this.places.size < this.openMax) return;
    const [last] = [...this.places.values()].filter(isFree).sort((one, other) => one.usedAtMs - other.usedAtMs);
    if (last) await this.closeAll([last]);
  }

  private async closeAll(places: readonly Place[]): Promise<void> {
    for (const place of places) if (this.places.get(place.id) === place) this.places.delete(place.id);
    await Promise.all(
      places.map(async ({ id, close }) => {
        try {
          await close();
        } catch (error) {
          this.parts.log.warn({ organization: id }, `organization \`${id}\` could not be closed: ${lineOf(error)}`);
        }
      }),
    );
  }
}

function isFree({ underWay, streams }: Place): boolean {
  return underWay === 0 && streams === 0;
}

function isIdle(place: Place, nowMs: number): boolean {
  return isFree(place) && nowMs - place.usedAtMs >= UNUSED_MS;
}
