// http: the audit as a stream of server-sent events.
import { STREAM } from '../../../contract/endpoint.ts';
import { tokenOf } from '../../../domain/actor.ts';
import { ruleNamed } from '../../../domain/decision-filter.ts';
import { demandScope } from '../auth.ts';
import type { HttpDeps } from '../deps.ts';
import { type Ctx, type Route, readHeaders, routeOf } from '../route.ts';
import { EventFeed, EventStream } from '../stream/event-feed.ts';
import { kindFilter } from '../stream/kind-filter.ts';

const HEADERS = {
  'Content-Type': 'text/event-stream',
  // Proxies pass on each event at once.
  'X-Accel-Buffering': 'no',
  // At shutdown nothing waits for a connection that has no request any more.
  Connection: 'close',
};

export function streamRoute(deps: HttpDeps): Route {
  const feed = new EventFeed(deps);
  return routeOf(STREAM, async (context, { after, kind, rule, schema }) => {
    const { 'Last-Event-ID': lastEventId } = readHeaders(context, STREAM.headers);
    const { caller, callerNow, session } = context.var;
    const token = tokenOf(caller.name);
    const position = lastEventId ?? after;
    // Whoever connects again was right the first time.
    const rules = lastEventId === undefined && rule !== undefined ? await knownRules(deps, rule) : rule;
    const head = await feed.readHead();
    feed.demandPlace(token);
    const parts = {
      feed,
      after: position,
      filter: kindFilter(kind, rules, schema),
      token,
      isAllowed: () => (session === undefined ? mayRead(callerNow) : deps.signIn.isOpen(session)),
      cut: () => context.env?.outgoing?.destroy(),
      clock: deps.clock,
      log: deps.log,
    };
    return new Response(new EventStream(parts, head).body, { headers: HEADERS });
  });
}

/** Errors: AppError `not_found`: a stream of a rule that is not there would stay silent for ever. */
async function knownRules({ reader, rules }: HttpDeps, asked: string): Promise<string> {
  const loaded = rules().map(({ id }) => id);
  const known: string[] = [];
  for (const name of asked.split(',')) known.push(await ruleNamed(reader, name, loaded));
  return known.join(',');
}

function mayRead(callerNow: Ctx['var']['callerNow']): boolean {
  try {
    demandScope(callerNow(), STREAM.scope);
    return true;
  } catch {
    return false;
  }
}
