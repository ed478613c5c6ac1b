// support: random requests made from an OpenAPI document: of every operation, with parameters and bodies that fit it, and with some that do not.
// In: a document, and values that mean something to the server. Out: an arbitrary of requests. It knows nothing of the server behind the document.
import fc from 'fast-check';

export interface OpenApiRequest {
  operationId: string;
  /** As the document has it, with `{names}`. */
  path: string;
  method: string;
  /** Path and query as they are sent. */
  address: string;
  headers: Record<string, string>;
  body: string | undefined;
  /** Something in it is not as the document says. */
  isDamaged: boolean;
}

export interface OpenApiRequestsOptions {
  /** Values by the name of a parameter or member (in any case), besides random ones. */
  known?: Record<string, readonly string[]>;
  /** Values of every parameter and member that has none of its own, besides random ones. */
  everywhere?: readonly string[];
  /** Operations that are left out, by their `operationId`: those that would end the server or the test. */
  without?: readonly string[];
}

// biome-ignore lint/suspicious/noExplicitAny: a document is walked here, not typed
type Json = any;
type Value = { value: unknown; isDamaged: boolean };

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const DEPTH_MAX = 6;

// biome-ignore format: a list
const ODD = [
  '', ' ', '0', '-1', '1e309', '9223372036854775808', 'null', 'true', '\u0000', '../..', '%2e%2e', "' OR 1=1 --", '<script>alert(1)</script>',
  '__proto__', 'constructor', '🧑🏽‍💻', '\u202e', '\ufeff', 'a'.repeat(3_000), '[]', '{}', '2026-01-01T00:00:00Z', '1790000000123456789',
];

export function openApiRequests(document: Json, options: OpenApiRequestsOptions = {}): fc.Arbitrary<OpenApiRequest> {
  const known = new Map(Object.entries(options.known ?? {}).map(([name, values]) => [name.toLowerCase(), values]));
  const operations = Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => ({ path, method, item, operation: item[method] })),
  );
  const wanted = operations.filter(({ operation }) => !options.without?.includes(operation.operationId));
  const making = { document, known, everywhere: options.everywhere ?? [] };
  // Made once for each operation: making an arbitrary costs more than drawing from it.
  return fc.oneof(
    ...wanted.map(({ path, method, item, operation }) => requestOf(making, path, method, item, operation)),
  );
}

interface Making {
  document: Json;
  known: ReadonlyMap<string, readonly string[]>;
  everywhere: readonly string[];
}

function requestOf(
  making: Making,
  path: string,
  method: string,
  item: Json,
  operation: Json,
): fc.Arbitrary<OpenApiRequest> {
  const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((each) =>
    resolved(making, each),
  );
  const values = fc.tuple(...parameters.map((each) => parameterOf(making, each)));
  const content = resolved(making, operation.requestBody ?? {}).content ?? {};
  const schema = (content['application/json'] ?? Object.values(content)[0])?.schema;
  const stray = fc.option(fc.tuple(fc.string({ maxLength: 12 }), oddText()), { freq: 12 });
  return fc.record({ values, body: schema ? bodyOf(making, schema) : fc.constant(NO_BODY), stray }).map((made) => {
    const given = made.values.flatMap((each) => (each === undefined ? [] : [each]));
    const of = (place: string) => given.filter((each) => each.in === place);
    const query = [...of('query').map(({ name, text }) => [name, text]), ...(made.stray ? [made.stray] : [])];
    const filled = of('path').reduce((text, { name, text: value }) => text.replace(`{${name}}`, segment(value)), path);
    const headers = of('header').flatMap(({ name, text }) =>
      /^[\x20-\x7e]*$/.test(text) ? [[name, text.trim()]] : [],
    );
    return {
      operationId: String(operation.operationId ?? `${method} ${path}`),
      path,
      method: method.toUpperCase(),
      address: filled + queryText(query as [string, string][]),
      headers: Object.fromEntries(headers),
      body: made.body.text,
      isDamaged: made.body.isDamaged || given.some((each) => each.isDamaged) || made.stray !== null,
    };
  });
}

const NO_BODY = { text: undefined as string | undefined, isDamaged: false };

function bodyOf(making: Making, schema: Json): fc.Arbitrary<typeof NO_BODY> {
  const made = valueOfSchema(making, schema, '', 0).map(({ value, isDamaged }) => ({
    text: JSON.stringify(value),
    isDamaged,
  }));
  const cut = fc
    .tuple(made, fc.nat({ max: 120 }))
    .map(([{ text }, at]) => ({ text: text?.slice(0, at), isDamaged: true }));
  const odd = fc
    .constantFrom(
      undefined,
      '',
      'null',
      '[]',
      '{',
      '['.repeat(4_000),
      '{"__proto__":{"a":1}}',
      `{"a":${'9'.repeat(400)}}`,
      '\ufeff{}',
    )
    .map((text) => ({ text, isDamaged: true }));
  return fc.oneof({ weight: 10, arbitrary: made }, { weight: 1, arbitrary: cut }, { weight: 1, arbitrary: odd });
}

type Given = { in: string; name: string; text: string; isDamaged: boolean } | undefined;

function parameterOf(making: Making, parameter: Json): fc.Arbitrary<Given> {
  const { name, in: place, required } = parameter;
  const given = valueOfSchema(making, parameter.schema ?? {}, name, DEPTH_MAX).map(({ value, isDamaged }) => ({
    in: place as string,
    name: name as string,
    text: typeof value === 'string' ? value : (JSON.stringify(value) ?? ''),
    isDamaged,
  }));
  if (place === 'path') return given;
  // An absent one that is required is damage, but nothing is left that could be marked: its operation is called all the same.
  return fc.oneof(
    { weight: required ? 1 : 3, arbitrary: fc.constant(undefined) },
    { weight: required ? 12 : 2, arbitrary: given },
  );
}

/** Mostly what the schema allows; now and then anything at all. */
function valueOfSchema(making: Making, schema: Json, name: string, depth: number): fc.Arbitrary<Value> {
  const fitting = fitOf(making, resolved(making, schema), name, depth);
  const other = fc
    .oneof(oddText(), fc.jsonValue({ maxDepth: 2 }), fc.constantFrom(null, true, -1, 1.5, 2 ** 53, [], {}))
    .map((value) => ({ value, isDamaged: true }));
  return fc.oneof({ weight: 14, arbitrary: fitting }, { weight: 1, arbitrary: other });
}

function fitOf(making: Making, schema: Json, name: string, depth: number): fc.Arbitrary<Value> {
  const plain = (values: fc.Arbitrary<unknown>) => values.map((value) => ({ value, isDamaged: false }));
  if (schema.const !== undefined) return plain(fc.constant(schema.const));
  if (schema.enum) return plain(fc.constantFrom(...schema.enum));
  const branches: Json[] | undefined = schema.anyOf ?? schema.oneOf;
  if (branches) return fc.oneof(...branches.map((each) => fitOf(making, resolved(making, each), name, depth)));
  if (schema.allOf) {
    const parts = schema.allOf.map((each: Json) => resolved(making, each));
    return fitOf(
      making,
      Object.assign({}, ...parts, { properties: Object.assign({}, ...parts.map((each: Json) => each.properties)) }),
      name,
      depth,
    );
  }
  const types = [schema.type ?? 'any'].flat();
  const ofTypes = types.map((type: string): fc.Arbitrary<Value> => {
    if (type === 'array') return listOf(making, schema, name, depth);
    if (type === 'object') return objectOf(making, schema, depth);
    return plain(scalarOf(type, schema, making.known.get(name.toLowerCase()) ?? making.everywhere));
  });
  return fc.oneof(...ofTypes);
}

function scalarOf(type: string, schema: Json, known: readonly string[]): fc.Arbitrary<unknown> {
  const [least, most] = [schema.minimum ?? -1_000, Math.min(schema.maximum ?? 2_000_000_000, Number.MAX_SAFE_INTEGER)];
  switch (type) {
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return fc.oneof(
        fc.integer({ min: Math.ceil(least), max: Math.ceil(least) + 30 }),
        fc.integer({ min: Math.ceil(least), max: Math.floor(most) }),
      );
    case 'number':
      return fc.double({ min: least, max: most, noNaN: true });
    case 'null':
      return fc.constant(null);
    case 'string': {
      const own = known.length > 0 ? [{ weight: 6, arbitrary: fc.constantFrom(...known) }] : [];
      const text = fc.string({ minLength: schema.minLength ?? 0, maxLength: Math.min(schema.maxLength ?? 30, 200) });
      return fc.oneof({ weight: 3, arbitrary: text }, { weight: 1, arbitrary: oddText() }, ...own);
    }
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function listOf(making: Making, schema: Json, name: string, depth: number): fc.Arbitrary<Value> {
  const least = schema.minItems ?? 0;
  const item =
    depth >= DEPTH_MAX
      ? fc.constant({ value: 'x', isDamaged: false })
      : valueOfSchema(making, schema.items ?? {}, name, depth + 1);
  const most = Math.min(schema.maxItems ?? 3, Math.max(least, 3));
  return fc.array(item, { minLength: least, maxLength: most }).map((items) => ({
    value: items.map((each) => each.value),
    isDamaged: items.some((each) => each.isDamaged),
  }));
}

function objectOf(making: Making, schema: Json, depth: number): fc.Arbitrary<Value> {
  if (depth >= DEPTH_MAX) return fc.constant({ value: {}, isDamaged: false });
  const required: string[] = schema.required ?? [];
  const members = Object.entries<Json>(schema.properties ?? {}).map(([name, member]) =>
    fc.tuple(
      fc.constant(name),
      required.includes(name) ? always() : fc.boolean(),
      valueOfSchema(making, member, name, depth + 1),
    ),
  );
  return fc.tuple(...members).map((all) => {
    const present = all.filter(([, isThere]) => isThere);
    return {
      value: Object.fromEntries(present.map(([name, , { value }]) => [name, value])),
      isDamaged: present.some(([, , { isDamaged }]) => isDamaged),
    };
  });
}

/** A member that is required is left out now and then as well. */
function always(): fc.Arbitrary<boolean> {
  return fc.integer({ min: 0, max: 25 }).map((dice) => dice > 0);
}

function oddText(): fc.Arbitrary<string> {
  return fc.oneof(fc.constantFrom(...ODD), fc.string({ unit: 'binary', maxLength: 20 }));
}

function resolved({ document }: Making, part: Json): Json {
  if (typeof part?.$ref !== 'string') return part ?? {};
  const names = part.$ref.replace(/^#\//, '').split('/');
  return names.reduce((value: Json, name: string) => value[name.replaceAll('~1', '/').replaceAll('~0', '~')], document);
}

/** As in an address, which cannot contain half a surrogate pair; a dot segment would be resolved away. */
function segment(text: string): string {
  const encoded = encode(text);
  return encoded === '' || encoded === '.' || encoded === '..' ? 'x' : encoded;
}

function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

function queryText(params: [string, string][]): string {
  return params.length === 0 ? '' : `?${params.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')}`;
}
