// http: what happened since a time. In: a request. Out: the summary as JSON. Each reads the record of that time, however long it is, so
// only a few are made at once.
import { z } from 'zod';
import type { HttpDeps } from '../deps.ts';
import { readQuery, sinceField, sinceOf } from '../input.ts';
import { json, type Route } from '../route.ts';
import { Turns } from '../turns.ts';

const summaryQuery = z.strictObject({ since: sinceField });
const BY_DEFAULT = '12h';
const BOUNDS = { what: 'summaries', underWayMax: 4, waitingMax: 8 };

export function summaryRoutes({ reader, views, clock }: HttpDeps): Route[] {
  const turns = new Turns(BOUNDS);
  return [
    {
      method: 'GET',
      path: '/api/summary',
      scope: 'read',
      handle: async (context) => {
        const nowMs = clock.nowMs();
        const { since = nowMs } = sinceOf(readQuery(context, summaryQuery).since ?? BY_DEFAULT, nowMs);
        return json(await turns.take(() => views.summary(reader, since, nowMs)));
      },
    },
  ];
}
