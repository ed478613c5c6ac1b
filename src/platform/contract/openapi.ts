// management contract: the OpenAPI 3.1 document, generated from the endpoint table and the schemas. In: the contract.
// Out: a plain document, the same each time. It must never contain anything that the schemas do not.
import { z } from 'zod';
import { ENDPOINTS, type Endpoint, type EndpointId } from './endpoints.ts';
import { isStrict } from './read-request.ts';
import { namedSchemas } from './shapes.ts';

type Json = { [key: string]: unknown };

const STATUS_TEXTS: Record<number, string> = {
  200: 'OK',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  500: 'Internal Server Error',
};

/** The whole API as an OpenAPI 3.1 document. */
export function openApiDocument(): Json {
  const paths: Record<string, Json> = {};
  for (const [id, endpoint] of Object.entries(ENDPOINTS) as [EndpointId, Endpoint][]) {
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method.toLowerCase()]: operationOf(id, endpoint) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Management API',
      version: '1',
      description: 'Users, devices, events, services and service bundles.',
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      schemas: componentSchemas(),
      securitySchemes: {
        user: { type: 'http', scheme: 'bearer', description: 'An access token, or the secret of an API key.' },
        refresh: { type: 'http', scheme: 'bearer', description: 'A refresh token, or the secret of an API key.' },
        admin: {
          type: 'apiKey',
          in: 'header',
          name: 'Authorization',
          description: 'The admin token, with or without `Bearer`.',
        },
      },
    },
  };
}

function operationOf(id: EndpointId, endpoint: Endpoint): Json {
  const notes = [
    ...(endpoint.aliases.length === 0 ? [] : [`Also at ${endpoint.aliases.map((path) => `\`${path}\``).join(', ')}.`]),
    ...(isStrict(endpoint.query) ? ['An unknown parameter is 400.'] : []),
  ].join(' ');
  return {
    operationId: id,
    summary: endpoint.summary,
    ...(notes === '' ? {} : { description: notes }),
    security: [{ [endpoint.auth]: [] }],
    parameters: [...pathParameters(endpoint.path), ...queryParameters(endpoint)],
    ...(endpoint.body ? { requestBody: { required: true, content: jsonContent(endpoint.body, 'input') } } : {}),
    ...(endpoint.takesForm ? { requestBody: { required: false, content: formContent(endpoint.query) } } : {}),
    responses: Object.fromEntries(endpoint.statuses.map((status) => [String(status), responseOf(endpoint, status)])),
  };
}

function responseOf(endpoint: Endpoint, status: number): Json {
  const description = STATUS_TEXTS[status] ?? 'Error';
  if (status === 200) return { description, content: jsonContent(endpoint.answer, 'output') };
  const name = endpoint.errors === 'envelope' ? 'ErrorEnvelope' : 'MessageAnswer';
  return { description, content: { 'application/json': { schema: reference(name) } } };
}

function pathParameters(path: string): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', minLength: 1 },
  }));
}

/** None of them is required in the query where a form can have it. */
function queryParameters({ query, takesForm = false }: Endpoint): Json[] {
  // Parameters carry `meta` of their own (global registry): on the wire they are text, by meaning integers or sets.
  const { properties = {}, required = [] } = z.toJSONSchema(query, { ...RULES, io: 'input' });
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name) && !takesForm,
    schema: asMeant(schema as Json),
  }));
}

function asMeant(schema: Json): Json {
  return schema.type === 'integer' ? { type: 'integer', minimum: 0 } : schema;
}

function jsonContent(schema: z.ZodType, io: 'input' | 'output'): Json {
  const id = namedSchemas.get(schema)?.id;
  return { 'application/json': { schema: id ? reference(id) : schemaOf(schema, io) } };
}

function formContent(query: z.ZodObject): Json {
  const { properties = {} } = z.toJSONSchema(query, { ...RULES, io: 'input' });
  return { 'application/x-www-form-urlencoded': { schema: { type: 'object', properties } } };
}

function reference(id: string): Json {
  return { $ref: `#/components/schemas/${id}` };
}

function componentSchemas(): Record<string, Json> {
  const { schemas } = z.toJSONSchema(namedSchemas, {
    ...RULES,
    io: 'input',
    uri: (id) => `#/components/schemas/${id}`,
  });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, schema]) => [id, withoutKeys(schema as Json, ['$schema', '$id'])]),
  );
}

/** One schema in place; what is registered by name inside it becomes a reference. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $defs, ...rest } = z.toJSONSchema(schema, { ...RULES, io, metadata: namedSchemas }) as Json & {
    $defs?: Json;
  };
  return retarget(withoutKeys(rest, ['$schema', 'id'])) as Json;
}

const RULES = { target: 'draft-2020-12', unrepresentable: 'any' } as const;

/** `#/$defs/Device` → `#/components/schemas/Device`. */
function retarget(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(retarget);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) =>
      key === '$ref' ? [key, String(member).replace('#/$defs/', '#/components/schemas/')] : [key, retarget(member)],
    ),
  );
}

function withoutKeys(schema: Json, keys: readonly string[]): Json {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !keys.includes(key)));
}
