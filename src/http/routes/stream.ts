// http: the audit as a stream of server-sent events. In: the position after which to begin, the kinds to show. Out: an answer that
// has no end of its own: what came before is replayed, and then each entry follows when it is committed.
import { z } from 'zod';
import { tokenOf } from '../../domain/actor.ts';
import { demandScope } from '../auth.ts';
import type { HttpDeps } from '../deps.ts';
import { positionField, readQuery } from '../input.ts';
import { STREAM_PATH } from '../path.ts';
import { Problem } from '../problem.ts';
import { type Ctx, notAllowed, type Route } from '../route.ts';
import { EventFeed } from '../stream/event-feed.ts';
import { EventStream } from '../stream/event-stream.ts';
import { kindFilter, unknownKind } from '../stream/kind-filter.ts';

const LAST_EVENT_ID = 'Last-Event-ID';
const SCOPE = 'read';

const streamQuery = z.strictObject({
  /** Entries after this number first; without it only those that are new from now on. */
  after: positionField.optional(),
  /** Families or kinds, separated by commas. */
  kind: z
    .string()
    .max(1_000)
    .superRefine((text, context) => {
      const message = unknownKind(text);
      if (message !== undefined) context.addIssue({ code: 'custom', message });
    })
    .optional(),
});

const HEADERS = {
  'Content-Type': 'text/event-stream',
  // Proxies pass on each event at once.
  'X-Accel-Buffering': 'no',
  // At shutdown nothing waits for a connection that has no request any more.
  Connection: 'close',
};

export function streamRoutes(deps: HttpDeps): Route[] {
  const feed = new EventFeed(deps);
  return [
    {
      method: 'GET',
      path: STREAM_PATH,
      scope: SCOPE,
      isEndless: true,
      handle: async (context) => {
        if (context.req.method !== 'GET') throw notAllowed(context.req.method, 'GET');
        const { after, kind } = readQuery(context, streamQuery);
        const { caller, callerNow, session } = context.var;
        const token = tokenOf(caller.name);
        const position = lastEventId(context) ?? after;
        const head = await feed.readHead();
        feed.demandPlace(token);
        const parts = {
          feed,
          after: position,
          filter: kindFilter(kind),
          token,
          isAllowed: () => (session === undefined ? mayRead(callerNow) : deps.signIn.isOpen(session)),
          cut: () => context.env?.outgoing?.destroy(),
          clock: deps.clock,
          log: deps.log,
        };
        return new Response(new EventStream(parts, head).body, { headers: HEADERS });
      },
    },
  ];
}

/** A client that connects again sends it with the address of the first time: it counts more than `after`. Errors: Problem 400. */
function lastEventId(context: Ctx): number | undefined {
  const header = context.req.header(LAST_EVENT_ID);
  if (header === undefined) return undefined;
  const position = positionField.safeParse(header);
  if (position.success) return position.data;
  const detail = `the header \`${LAST_EVENT_ID}\` must be a whole number: send the id of the last event, or leave it out`;
  throw new Problem(400, 'bad-request', 'The request is wrong', detail);
}

function mayRead(callerNow: Ctx['var']['callerNow']): boolean {
  try {
    demandScope(callerNow(), SCOPE);
    return true;
  } catch {
    return false;
  }
}
