// http: why a rule matches one subject or not, and all that is known of one, read now. In: names. Out: the answer. Each reads the
// platform, so only a few are under way at once.
import { z } from 'zod';
import { AppError } from '../../domain/errors.ts';
import { givenTime } from '../../domain/given-time.ts';
import type { HttpDeps } from '../deps.ts';
import { idParam, nameField } from '../input.ts';
import { operation } from '../operation.ts';
import { json, type Route } from '../route.ts';
import { Turns } from '../turns.ts';

const explainBody = z.strictObject({
  subject: nameField.describe('any name of it: a DeviceID, a serial number, an e-mail address, a ServiceID, a name'),
});
const whyQuery = z.strictObject({
  of: nameField.describe('any name of a device, user or service'),
  at: nameField
    .optional()
    .describe(
      'an earlier time, as a duration back from now or as a date: it is answered from the history, without the platform',
    ),
});

const BOUNDS = { what: 'explanations', underWayMax: 4, waitingMax: 8 };

export function explainRoutes({ explain, why, whyAt, clock, schemas, views }: HttpDeps): Route[] {
  const turns = new Turns(BOUNDS);
  return [
    operation({
      method: 'POST',
      path: '/api/rules/:id/explain',
      scope: 'read',
      operationId: 'explainRule',
      tag: 'rules',
      summary: 'Explain why a rule matches a subject or not',
      description: 'It reads the subject from the platform now. Nothing is sent, and nothing is kept.',
      params: idParam('a rule'),
      body: explainBody,
      answers: {
        200: { description: 'the verdict with its reasons, and what would be decided now', schema: schemas.explained },
      },
      refusals: [409, 502],
      handle: async (_context, { params, body }) => {
        const explained = await turns.take(() => explain(params.id, body.subject));
        return json(await views.explained(explained));
      },
    }),
    operation({
      method: 'GET',
      path: '/api/why',
      scope: 'read',
      operationId: 'why',
      tag: 'decisions',
      summary: 'Show all that is known of a subject, and what happens next',
      query: whyQuery,
      answers: {
        200: { description: 'its state, its rules, what waits, its history, and the ways out', schema: schemas.why },
      },
      refusals: [404, 409, 502],
      handle: async (_context, { query: { of, at } }) => {
        const atMs = at === undefined ? undefined : givenTime(at, 'at', clock.nowMs(), 'before');
        if (atMs !== undefined && !whyAt) throw new AppError('not_found', 'there is no history here');
        const answer = () => (atMs === undefined || !whyAt ? why(of) : whyAt(of, atMs));
        return json(await views.why(await turns.take(answer)));
      },
    }),
  ];
}
