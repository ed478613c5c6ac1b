// support: an OpenAPI 3.1 document as tests read it. In: a document. Out: its operations, what is malformed in it, and whether an answer is
// one that it describes.
import { z } from 'zod';

interface Media {
  schema?: object;
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  schema: JsonSchema;
}

export interface JsonSchema {
  [word: string]: unknown;
  type?: string | string[];
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
}

export interface DescribedOperation {
  method: string;
  path: string;
  operationId: string;
  security: { [scheme: string]: string[] }[];
  parameters: Parameter[];
  body: JsonSchema | undefined;
  /** By status: its content types. */
  answers: { [status: string]: { [type: string]: Media } };
}

export interface OpenApi {
  openapi: string;
  paths: { [path: string]: { [method: string]: never } };
  components: { [kind: string]: { [name: string]: object } };
}

export function operationsOf(document: OpenApi): DescribedOperation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item as { [method: string]: z.infer<typeof operation> }).map(([method, one]) => ({
      method: method.toUpperCase(),
      path,
      operationId: one.operationId,
      security: one.security ?? [],
      parameters: (one.parameters ?? []) as Parameter[],
      body: one.requestBody?.content['application/json']?.schema as JsonSchema | undefined,
      answers: Object.fromEntries(
        Object.entries(one.responses).map(([status, response]) => [
          status,
          (resolved(document, response) as { content?: { [type: string]: Media } }).content ?? {},
        ]),
      ),
    })),
  );
}

function resolved(document: OpenApi, part: object): object {
  if (!('$ref' in part)) return part;
  const found = (part.$ref as string)
    .slice(2)
    .split('/')
    .reduce<unknown>((at, key) => (at as never)?.[key], document);
  if (typeof found !== 'object' || found === null) throw new Error(`${part.$ref} leads nowhere`);
  return found;
}

export type Check = (operation: DescribedOperation, status: number, type: string, body: string) => string | undefined;

/**
 * What is wrong with an answer: a status or a content type that the document does not name, or JSON of another shape. `isClosed`: also a name
 * that the document does not have.
 */
export function answerCheck(document: OpenApi, { isClosed }: { isClosed: boolean }): Check {
  const $defs = inner(document.components.schemas ?? {}, isClosed) as object;
  const schemas = new Map<object, z.ZodType>();
  const schemaOf = (schema: object): z.ZodType => {
    const known = schemas.get(schema);
    if (known) return known;
    const made = z.fromJSONSchema({ ...(inner(schema, isClosed) as object), $defs } as never);
    schemas.set(schema, made);
    return made;
  };
  return ({ operationId, answers }, status, type, body) => {
    const content = answers[status];
    if (!content) return `${operationId} answered ${status}, which is not described`;
    if (type === '' && body === '' && Object.keys(content).length === 0) return undefined;
    const media = Object.entries(content).find(([described]) => described.split(';')[0] === type.split(';')[0])?.[1];
    if (!media) return `${operationId} answered ${status} as ${type}, which is not described`;
    if (!media.schema || !/json$/.test(type)) return undefined;
    const { error } = schemaOf(media.schema).safeParse(JSON.parse(body));
    return error && `${operationId} answered ${status}: ${z.prettifyError(error).slice(0, 1_000)}`;
  };
}

/** With references that a schema by itself can follow. */
function inner(part: unknown, isClosed: boolean): unknown {
  if (Array.isArray(part)) return part.map((one) => inner(one, isClosed));
  if (typeof part !== 'object' || part === null) return part;
  const made = Object.fromEntries(Object.entries(part).map(([key, value]) => [key, inner(value, isClosed)]));
  if (typeof made.$ref === 'string') made.$ref = made.$ref.replace('#/components/schemas/', '#/$defs/');
  const isObject = made.type === 'object' && typeof made.properties === 'object' && !('additionalProperties' in made);
  return isClosed && isObject ? { ...made, additionalProperties: false } : made;
}

const reference = z.strictObject({ $ref: z.string().startsWith('#/components/') });
const schema = z.looseObject({});
const media = z.strictObject({ schema });
const header = z.strictObject({ description: z.string(), schema });
const response = z.strictObject({
  description: z.string().min(1),
  headers: z.record(z.string(), header).optional(),
  content: z.record(z.string().regex(/^[\w.+-]+\/[\w.+-]+(;.*)?$/), media).optional(),
});
const operation = z.strictObject({
  operationId: z.string().regex(/^[a-z][A-Za-z0-9]*$/),
  tags: z.array(z.string()).length(1),
  summary: z.string().min(1).max(100),
  description: z.string().optional(),
  security: z.array(z.record(z.string(), z.array(z.string()))).optional(),
  parameters: z
    .array(
      z
        .strictObject({
          name: z.string().min(1),
          in: z.enum(['path', 'query', 'header']),
          required: z.boolean(),
          description: z.string().optional(),
          schema,
        })
        .refine((one) => one.in !== 'path' || one.required, 'a parameter of a path is required'),
    )
    .optional(),
  requestBody: z
    .strictObject({
      required: z.boolean().optional(),
      description: z.string().optional(),
      content: z.record(z.string(), media),
    })
    .optional(),
  responses: z.record(z.string().regex(/^[1-5]\d\d$/), z.union([reference, response])),
});

/** The parts of OpenAPI 3.1 that our documents are made of; a part that is none of them is a fault. */
export const openApiSchema = z.strictObject({
  openapi: z.string().regex(/^3\.1\.\d$/),
  info: z.strictObject({ title: z.string(), version: z.string(), description: z.string().optional() }),
  servers: z.array(z.strictObject({ url: z.string() })).optional(),
  tags: z.array(z.strictObject({ name: z.string(), description: z.string() })).optional(),
  paths: z.record(
    z.string().startsWith('/'),
    z.strictObject({
      get: operation.optional(),
      post: operation.optional(),
      put: operation.optional(),
      patch: operation.optional(),
      delete: operation.optional(),
    }),
  ),
  components: z.strictObject({
    schemas: z.record(z.string().regex(/^[\w.-]+$/), schema),
    responses: z.record(z.string(), response).optional(),
    parameters: z.record(z.string(), schema).optional(),
    securitySchemes: z.record(z.string(), z.looseObject({ type: z.enum(['http', 'apiKey', 'oauth2']) })).optional(),
  }),
});

/** What a structure alone does not show: references, names, parameters, words of JSON Schema. Empty when all is well. */
export function faultsOf(document: OpenApi): string[] {
  const faults: string[] = [];
  const visit = (part: unknown, at: string): void => {
    if (typeof part !== 'object' || part === null) return;
    if ('$ref' in part)
      try {
        resolved(document, part);
      } catch (error) {
        faults.push(`${at}: ${(error as Error).message}`);
      }
    if ('nullable' in part && typeof part.nullable === 'boolean') faults.push(`${at}: \`nullable\` is of OpenAPI 3.0`);
    for (const [key, value] of Object.entries(part)) visit(value, `${at}/${key}`);
  };
  visit(document, '#');
  const operations = operationsOf(document);
  const ids = operations.map(({ operationId }) => operationId);
  for (const id of new Set(ids)) if (ids.indexOf(id) !== ids.lastIndexOf(id)) faults.push(`${id} is there twice`);
  for (const { path, parameters, operationId, security } of operations) {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const given = parameters.filter((one) => one.in === 'path').map(({ name }) => name);
    if (named.sort().join() !== given.sort().join()) faults.push(`${operationId} has the parameters ${given}`);
    const unknown = security
      .flatMap((one) => Object.keys(one))
      .find((name) => !document.components.securitySchemes?.[name]);
    if (unknown) faults.push(`${operationId} has the unknown security scheme ${unknown}`);
    for (const { name, schema } of parameters)
      if (!('type' in schema)) faults.push(`${operationId}: ${name} has no type`);
  }
  return faults;
}
