// http: the audit as a stream of server-sent events. In: the position after which to begin, the kinds to show. Out: an answer that
// has no end of its own: what came before is replayed, and then each entry follows when it is committed.
import { z } from 'zod';
import { tokenOf } from '../../domain/actor.ts';
import { ruleNamed } from '../../domain/decision-filter.ts';
import { demandScope } from '../auth.ts';
import type { HttpDeps } from '../deps.ts';
import { positionField } from '../input.ts';
import { operation } from '../operation.ts';
import { STREAM_PATH } from '../path.ts';
import type { Ctx, Route } from '../route.ts';
import { EventFeed } from '../stream/event-feed.ts';
import { EventStream } from '../stream/event-stream.ts';
import { areOfRules, kindFilter, unknownKind } from '../stream/kind-filter.ts';

const SCOPE = 'read';

const streamQuery = z.strictObject({
  after: positionField
    .optional()
    .describe('entries after this number first; without it, only those that are new from now on'),
  kind: z
    .string()
    .max(1_000)
    .superRefine((text, context) => {
      const message = unknownKind(text);
      if (message !== undefined) context.addIssue({ code: 'custom', message });
    })
    .optional()
    .describe('families or kinds of entries, `outcome` or `progress`, separated by commas'),
  rule: z
    .string()
    .min(1)
    .max(1_000)
    .optional()
    .describe('ids of rules, separated by commas: only their decisions and outcomes'),
});
const filterQuery = streamQuery.refine(
  ({ kind, rule }) => rule === undefined || kind === undefined || areOfRules(kind),
  {
    path: ['kind'],
    message: 'must be `decision`, `outcome` or both beside `rule`: nothing else is of a rule',
  },
);
/** A client that connects again sends it with the address of the first time: it counts more than `after`. */
const streamHeaders = z.object({
  'Last-Event-ID': positionField.optional().describe('the id of the last event that came; it counts more than `after`'),
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
    operation({
      method: 'GET',
      path: STREAM_PATH,
      scope: SCOPE,
      isEndless: true,
      operationId: 'stream',
      tag: 'audit',
      summary: 'Receive audit entries as they are committed',
      description: 'The answer has no end: reconnect with `Last-Event-ID`. A session of the page opens it, too.',
      query: filterQuery,
      headers: streamHeaders,
      refusals: [404],
      answers: { 200: { description: 'server-sent events', types: ['text/event-stream'] } },
      handle: async (context, { query: { after, kind, rule }, headers: { 'Last-Event-ID': lastEventId } }) => {
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
          filter: kindFilter(kind, rules),
          token,
          isAllowed: () => (session === undefined ? mayRead(callerNow) : deps.signIn.isOpen(session)),
          cut: () => context.env?.outgoing?.destroy(),
          clock: deps.clock,
          log: deps.log,
        };
        return new Response(new EventStream(parts, head).body, { headers: HEADERS });
      },
    }),
  ];
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
    demandScope(callerNow(), SCOPE);
    return true;
  } catch {
    return false;
  }
}
