// http: what happened since a time. In: a request. Out: the summary as JSON. Each reads the record of that time, however long it is, so
// only a few are made at once.
import { z } from 'zod';
import type { HttpDeps } from '../deps.ts';
import { sinceField, sinceOf } from '../input.ts';
import { operation } from '../operation.ts';
import { json, type Route } from '../route.ts';
import { Turns } from '../turns.ts';

const BY_DEFAULT = '12h';
const summaryQuery = z.strictObject({ since: sinceField.default(BY_DEFAULT) });
const BOUNDS = { what: 'summaries', underWayMax: 4, waitingMax: 8 };

export function summaryRoutes({ reader, views, schemas, clock }: HttpDeps): Route[] {
  const turns = new Turns(BOUNDS);
  return [
    operation({
      method: 'GET',
      path: '/api/summary',
      scope: 'read',
      operationId: 'getSummary',
      tag: 'decisions',
      summary: 'Summarize what happened since a time',
      query: summaryQuery,
      answers: { 200: { description: 'the summary', schema: schemas.summary } },
      handle: async (_context, { query }) => {
        const nowMs = clock.nowMs();
        const { since = nowMs } = sinceOf(query.since, nowMs);
        return json(await turns.take(() => views.summary(reader, since, nowMs)));
      },
    }),
  ];
}
