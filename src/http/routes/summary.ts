// http: what happened since a time. In: a request. Out: the summary as JSON.
import { z } from 'zod';
import type { HttpDeps } from '../deps.ts';
import { readQuery, sinceField, sinceOf } from '../input.ts';
import { json, type Route } from '../route.ts';

const summaryQuery = z.strictObject({ since: sinceField });
const BY_DEFAULT = '12h';

export function summaryRoutes({ reader, views, clock }: HttpDeps): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/summary',
      scope: 'read',
      handle: async (context) => {
        const nowMs = clock.nowMs();
        const { since = nowMs } = sinceOf(readQuery(context, summaryQuery).since ?? BY_DEFAULT, nowMs);
        return json(await views.summary(reader, since, nowMs));
      },
    },
  ];
}
