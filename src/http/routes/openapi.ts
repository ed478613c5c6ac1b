// http: the document of the endpoint. In: all of its routes. Out: OpenAPI 3.1 as JSON. Open to anybody: it is in the package, which
// everybody can read. It is made when it is first asked for, and kept.
import { z } from 'zod';
import type { DocumentSource } from '../described.ts';
import { baseOf } from '../mount.ts';
import { operation } from '../operation.ts';
import { OPENAPI_PATH } from '../path.ts';
import { json, type Route } from '../route.ts';

export function openapiRoute(document: DocumentSource): Route {
  return operation({
    method: 'GET',
    path: OPENAPI_PATH,
    scope: undefined,
    operationId: 'getOpenapi',
    tag: 'health',
    summary: 'Read this document',
    answers: { 200: { description: 'OpenAPI 3.1', schema: z.looseObject({ openapi: z.string() }) } },
    handle: async (context) => json({ ...(await document()), servers: [{ url: baseOf(context) || '/' }] }),
  });
}
