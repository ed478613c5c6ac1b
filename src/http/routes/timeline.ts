// http: what happened to a subject, and what changed of its facts, in one line of time. In: a name. Out: the newest lines as JSON, newest first.
import { z } from 'zod';
import { TIMELINE_PARTS } from '../../domain/history.ts';
import { demandOne, resolveName } from '../../domain/resolve-name.ts';
import { SUBJECT_KINDS } from '../../domain/subjects.ts';
import type { HttpDeps } from '../deps.ts';
import { limitField } from '../input.ts';
import { operation } from '../operation.ts';
import { json, type Route } from '../route.ts';
import { Turns } from '../turns.ts';

const params = z.object({ kind: z.enum(SUBJECT_KINDS), id: z.string().describe('any name of the subject') });
const query = z.strictObject({
  limit: limitField,
  part: z.enum(TIMELINE_PARTS).default('all').describe('`facts`: what changed of its facts; `acts`: all but that'),
});

const BOUNDS = { what: 'readings of the history', underWayMax: 2, waitingMax: 8 };

export function timelineRoutes({ reader, views, schemas, timeline, history }: HttpDeps): Route[] {
  const turns = new Turns(BOUNDS);
  const schema = z.strictObject({
    subject: z.strictObject({ kind: z.enum(SUBJECT_KINDS), id: z.string() }),
    timeline: z.array(schemas.history),
  });
  return [
    operation({
      method: 'GET',
      path: '/api/subjects/:kind/:id/timeline',
      scope: 'read',
      operationId: 'getTimeline',
      tag: 'decisions',
      summary: 'Read what happened to a subject, and what changed of its facts',
      description: 'Facts are in it where a history is kept. Changes of time stamps alone are left out.',
      params,
      query,
      answers: { 200: { description: 'the newest lines, the newest first', schema } },
      refusals: [404],
      handle: async (_context, { params: { kind, id }, query: { limit, part } }) => {
        const subject = demandOne(await resolveName(reader, id, { kinds: [kind] }), id).subjects[0];
        const read = async () => {
          if (timeline) return timeline(subject, { limit, part });
          return part === 'facts' ? [] : history(subject, limit);
        };
        const lines = await turns.take(read);
        return json({ subject: { kind: subject.kind, id: subject.id }, timeline: lines.map(views.history) });
      },
    }),
  ];
}
