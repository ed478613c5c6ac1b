// http: why a rule matches one subject or not, and all that is known of one, read now. In: names. Out: the answer. Each reads the
// platform, so only a few are under way at once.
import { z } from 'zod';
import { plainJson } from '../../domain/canonical.ts';
import type { HttpDeps } from '../deps.ts';
import { nameField, readBody, readQuery } from '../input.ts';
import { json, param, type Route } from '../route.ts';
import { Turns } from '../turns.ts';

/** Any name of it: a DeviceID, a serial number, an e-mail address, a ServiceID, or what it is called. */
const explainBody = z.strictObject({ subject: nameField });

/** Any name of a device, user or service. */
const whyQuery = z.strictObject({ of: nameField });

const BOUNDS = { what: 'explanations', underWayMax: 4, waitingMax: 8 };

export function explainRoutes({ explain, why }: HttpDeps): Route[] {
  const turns = new Turns(BOUNDS);
  return [
    {
      method: 'POST',
      path: '/api/rules/:id/explain',
      scope: 'read',
      handle: async (context) => {
        const { subject } = await readBody(context, explainBody);
        const explained = await turns.take(() => explain(param(context, 'id'), subject));
        return json(plainJson(explained) as object);
      },
    },
    {
      method: 'GET',
      path: '/api/why',
      scope: 'read',
      handle: async (context) => {
        const { of } = readQuery(context, whyQuery);
        return json(plainJson(await turns.take(() => why(of))) as object);
      },
    },
  ];
}
