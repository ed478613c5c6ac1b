// http: why a rule matches one subject or not, read now. In: a rule's id and a subject's. Out: the explanation.
import { z } from 'zod';
import { plainJson } from '../../domain/canonical.ts';
import type { HttpDeps } from '../deps.ts';
import { nameField, readBody } from '../input.ts';
import { json, param, type Route } from '../route.ts';

/** A device's DeviceID or serial number, a user's e-mail address, or a ServiceID. */
const explainBody = z.strictObject({ subject: nameField });

export function explainRoutes({ explain }: HttpDeps): Route[] {
  return [
    {
      method: 'POST',
      path: '/api/rules/:id/explain',
      scope: 'read',
      handle: async (context) => {
        const { subject } = await readBody(context, explainBody);
        return json(plainJson(await explain(param(context, 'id'), subject)) as object);
      },
    },
  ];
}
