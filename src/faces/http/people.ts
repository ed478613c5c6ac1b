// http: the page of a person, for who has a link of Trustward and nothing else. In: the port behind it, what writes the pages. Out: an app of its own,
// mounted at `/mine`, or alone on a listener. INVARIANT: neither cookies nor tokens count here, so those of an operator open nothing more; and whatever
// opens nothing is one answer.

import { Hono } from 'hono';
import { DAY_MS } from '../../base/time.ts';
import { HEALTHZ } from '../../contract/endpoint.ts';
import { LANES } from '../../domain/jobs.ts';
import { PEOPLE_PATH, type PeoplePort, type PersonPage } from '../../domain/person-link.ts';
import type { Clock } from '../../domain/ports.ts';
import { documentSource, guardedApp } from './app.ts';
import { Buckets, type HttpDeps, networkOf, RateLimit } from './deps.ts';
import { pathWithin } from './mount.ts';
import { Problem, tooOften } from './problem.ts';
import { type Ctx, type Env, json, type Pages, param, routeOf, Turns } from './route.ts';

export interface PeopleDeps extends Pick<HttpDeps, 'clock' | 'hosts' | 'publicUrl' | 'log'> {
  people?: PeoplePort | undefined;
  metrics: Pick<HttpDeps['metrics'], 'answered'>;
}

/** Of one person in a minute, and of one address that has no link. */
const VIEWS_PER_MINUTE = 30;
const STRANGERS_PER_MINUTE = 60;
const KNOWN_MAX = 1_000;
/** Forms of one person: so many at once, then one a minute, and so many a day. Each check is a run, with its audit entries. */
const ASKS_AT_ONCE = 6;
const ASKS_A_DAY = 100;
/** Checks of all persons: operators keep their places in the lane that both wait in. */
const CHECKS = { what: 'checks', underWayMax: LANES.operator.placesMax / 4, waitingMax: 200 };

/** What opens a page for a request, as often as it may. */
export class Admission {
  private readonly views: Buckets;
  private readonly asks: Buckets;
  private readonly asksOfDay: Buckets;
  readonly checks = new Turns(CHECKS);
  private readonly strangers: Buckets;
  /** Links that opened a page, with whose it is: who comes too often is refused before anything is read. */
  private readonly known = new Map<string, string>();

  constructor(
    clock: Pick<Clock, 'monotonicMs'>,
    private readonly people: PeoplePort | undefined,
  ) {
    this.views = new Buckets(clock, VIEWS_PER_MINUTE, VIEWS_PER_MINUTE);
    this.asks = new Buckets(clock, 1, ASKS_AT_ONCE);
    this.asksOfDay = new Buckets(clock, (ASKS_A_DAY * 60_000) / DAY_MS, ASKS_A_DAY);
    this.strangers = new Buckets(clock, STRANGERS_PER_MINUTE, STRANGERS_PER_MINUTE);
  }

  /** Errors: Problem 404 for what opens nothing, 429 for what comes too often. */
  async open(context: Ctx): Promise<PersonPage> {
    const link = param(context, 'link');
    const known = this.known.get(link);
    if (known !== undefined) this.demandOf(context, known);
    const page = await this.people?.open(link);
    // The last one that opened a page is the last of the map.
    this.known.delete(link);
    // A good link is never refused for what others of the same address sent: a proxy has one for all.
    if (!page) {
      demand(this.strangers.take(networkOf(context.env?.incoming?.socket?.remoteAddress ?? '')));
      throw new Problem(404, 'not-found', 'Not found', 'the link opens nothing');
    }
    this.known.set(link, page.person);
    const [oldest] = this.known.keys();
    if (this.known.size > KNOWN_MAX && oldest !== undefined) this.known.delete(oldest);
    if (known === undefined) this.demandOf(context, page.person);
    return page;
  }

  private demandOf({ req }: Ctx, person: string): void {
    const isAsk = req.method === 'POST';
    demand((isAsk ? this.asks : this.views).take(person));
    if (isAsk) demand(this.asksOfDay.take(person));
  }
}

function demand(waitMs: number): void {
  if (waitMs > 0) throw tooOften('this page is asked for too often', waitMs);
}

/** `isAlone`: it answers on a listener of its own, and its health there. */
export function createPeopleApp(deps: PeopleDeps, pages: Pages, isAlone: boolean): Hono<Env> {
  const health = isAlone ? [routeOf(HEALTHZ, () => json({ status: 'ok' }))] : [];
  const document = documentSource([]);
  const rates = new RateLimit(deps.clock, undefined);
  const guards = { ...deps, rates, pages, document, identify: () => undefined, sendsNoOrigin: true };
  return guardedApp(guards, [...health, ...pages.routes]);
}

export function isPersonPath(path: string): boolean {
  return path === PEOPLE_PATH || path.startsWith(`${PEOPLE_PATH}/`);
}

/** The same app, with the pages of persons at their path. */
export function withPeople(app: Hono<Env>, people: Hono<Env>): Hono<Env> {
  const both = new Hono<Env>();
  both.all('*', ({ req: { raw }, env }) => (isPersonPath(pathWithin(raw, env?.mount)) ? people : app).fetch(raw, env));
  return both;
}
