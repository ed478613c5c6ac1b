// web: the documentation of the HTTP endpoint, to browse: each operation with what it takes and answers, and the schemas. In: the OpenAPI
// document. Out: one page. Open to anybody, as the document is: it shows nothing of this organization, and is written once.

import { raw } from 'hono/html';
import { type Child, useContext } from 'hono/jsx';
import { OPENAPI } from '../../../contract/endpoint.ts';
import type { Described } from '../../../contract/operation.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { baseOf } from '../../http/mount.ts';
import type { Route } from '../../http/route.ts';
import { Base, Link, useAddress } from '../../report/html/link.tsx';
import { Table, Words } from '../../report/html/text.tsx';
import { answerPage } from '../answer.tsx';

// A JSON Schema of the endpoint's document as rows for people: one for each name, those of inner objects as
// `outer.inner`.

/** What our documents use of JSON Schema. */
interface JsonSchema {
  $ref?: string;
  type?: string | readonly string[];
  enum?: readonly unknown[];
  anyOf?: readonly JsonSchema[];
  items?: JsonSchema;
  properties?: { readonly [name: string]: JsonSchema };
  required?: readonly string[];
  additionalProperties?: JsonSchema | boolean;
  description?: string;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
}

interface Field {
  name: string;
  schema: JsonSchema;
  isRequired: boolean;
}

const schemaId = (name: string) => `schema-${name}`;

/** Of an object, and of the objects in it and in its lists. */
function fieldsOf(schema: JsonSchema, prefix = ''): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, inner]) => {
    const name = `${prefix}${key}`;
    const field = { name, schema: inner, isRequired: schema.required?.includes(key) ?? false };
    const rows = inner.items?.properties ? inner.items : inner;
    return [field, ...fieldsOf(rows, rows === inner ? `${name}.` : `${name}[].`)];
  });
}

function TypeOf({ schema }: { schema: JsonSchema }): Child {
  const { $ref, anyOf, items, additionalProperties: values, type } = schema;
  if ($ref !== undefined) {
    const name = $ref.split('/').at(-1) as string;
    return <Link href={`#${schemaId(name)}`}>{name}</Link>;
  }
  if (anyOf)
    return anyOf.map((one, at) => (
      <>
        {at > 0 ? ' or ' : ''}
        <TypeOf schema={one} />
      </>
    ));
  if (schema.enum) return <Words>{schema.enum.map((value) => `\`${value}\``).join(', ')}</Words>;
  const orNull = Array.isArray(type) && type.includes('null') ? ' or null' : '';
  if (items)
    return (
      <>
        list of <TypeOf schema={items} />
        {orNull}
      </>
    );
  if (typeof values === 'object')
    return (
      <>
        by name: <TypeOf schema={values} />
        {orNull}
      </>
    );
  const types = type === undefined ? [] : typeof type === 'string' ? [type] : type;
  return types.length === 0 ? 'any JSON value' : types.join(' or ');
}

/** What it means, its default, its bounds. */
function About({ schema }: { schema: JsonSchema }) {
  const { description, minimum, maximum, minLength, maxLength, maxItems } = schema;
  const bounds = [
    schema.default === undefined ? '' : `\`${JSON.stringify(schema.default)}\` by default`,
    maximum !== undefined && maximum < 1e9 ? `${minimum ?? 0} to ${maximum}` : '',
    maxLength === undefined ? '' : `${minLength ?? 0} to ${maxLength} characters`,
    maxItems === undefined ? '' : `at most ${maxItems}`,
  ];
  return <Words>{[description ?? '', ...bounds].filter((text) => text !== '').join('; ')}</Words>;
}

// One operation of the endpoint for people: what it does, its scope, what it takes, what it answers, and a line to
// copy.

type Media = { [type: string]: { schema?: JsonSchema } };

/** An operation as the document has it. */
interface Operation extends Pick<Described, 'summary' | 'description'> {
  operationId: string;
  tags: readonly string[];
  security?: readonly { token?: readonly string[] }[];
  parameters?: readonly { name: string; in: string; required: boolean; schema: JsonSchema }[];
  requestBody?: { required?: boolean; content: Media };
  responses: { [status: string]: { $ref?: string; description?: string; content?: Media } };
}

interface Placed {
  method: string;
  path: string;
  operation: Operation;
}

function OperationPart({ method, path, operation }: Placed) {
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation;
  const body = requestBody?.content['application/json']?.schema;
  const fields = body ? fieldsOf(body) : [];
  const scope = scopeOf(operation);
  return (
    <details>
      <summary>
        <h3>
          <code>
            {method} {path}
          </code>
        </h3>{' '}
        {summary}
      </summary>
      <div id={operationId}>
        {description === undefined ? null : (
          <p>
            <Words>{`${description}`}</Words>
          </p>
        )}
        <p>
          {scope === undefined ? (
            'Open to anybody.'
          ) : (
            <>
              Needs a token of scope <b>{scope}</b>.
            </>
          )}
        </p>
        {parameters.length === 0 ? null : (
          <Table
            caption={`Parameters of ${operationId}`}
            columns={['Parameter', 'In', 'Type', 'About']}
            rows={parameters.map(({ name, in: place, required, schema }) => ({
              cells: [nameOf(name, required), place, <TypeOf schema={schema} />, <About schema={schema} />],
            }))}
          />
        )}
        {fields.length === 0 ? null : <Fields caption={`Body of ${operationId}`} head="Body (JSON)" fields={fields} />}
        <Table
          caption={`Answers of ${operationId}`}
          columns={['Status', 'Answer', 'As']}
          rows={Object.entries(responses)
            .filter(([, { $ref }]) => $ref === undefined)
            .map(([status, { description: meaning = '', content = {} }]) => ({
              cells: [status, <Words>{meaning}</Words>, <Contents content={content} />],
            }))}
        />
        <p>
          Refusals:{' '}
          {Object.entries(responses)
            .filter(([, { $ref }]) => $ref !== undefined)
            .map(([status], at) => (
              <>
                {at > 0 ? ', ' : ''}
                <Link href="#refusals">{status}</Link>
              </>
            ))}
        </p>
        <pre>{curlOf({ method, path, operation }, fields)}</pre>
      </div>
    </details>
  );
}

function Fields({ caption, head, fields }: { caption: string; head: string; fields: readonly Field[] }) {
  return (
    <Table
      caption={caption}
      columns={[head, 'Type', 'About']}
      rows={fields.map(({ name, schema, isRequired }) => ({
        cells: [nameOf(name, isRequired), <TypeOf schema={schema} />, <About schema={schema} />],
      }))}
    />
  );
}

function nameOf(name: string, isRequired: boolean) {
  return (
    <>
      <code>{name}</code>
      {isRequired ? ' (required)' : ''}
    </>
  );
}

/** A list of a page, a noun, or the names of an object. */
function Contents({ content }: { content: Media }) {
  return Object.entries(content).map(([type, { schema = {} }]) => (
    <div>
      <code>{type}</code>
      {type !== 'application/json' ? null : schema.properties ? (
        <>
          :{' '}
          {Object.entries(schema.properties).map(([name, inner], at) => (
            <>
              {at > 0 ? ', ' : ''}
              <code>{name}</code> (<TypeOf schema={inner} />)
            </>
          ))}
        </>
      ) : (
        <>
          : <TypeOf schema={schema} />
        </>
      )}
    </div>
  ));
}

function scopeOf({ security }: Operation): string | undefined {
  return security?.[0]?.token?.[0];
}

/** `TOKEN`, and words in capitals for parameters, are for the reader to fill in. */
function curlOf({ method, path, operation }: Placed, fields: readonly Field[]): string {
  const place = path.replace(/\{(\w+)\}/g, (_, name) => name.toUpperCase());
  const required = (operation.parameters ?? []).filter((one) => one.in === 'query' && one.required);
  const query = required.map(({ name }) => `${name}=${name.toUpperCase()}`).join('&');
  const needed = fields.filter(({ name, isRequired }) => isRequired && !/[.[]/.test(name));
  const body = Object.fromEntries(needed.map(({ name, schema }) => [name, schema.enum?.[0] ?? name.toUpperCase()]));
  const parts = [
    'curl',
    scopeOf(operation) === undefined ? '' : `-H "Authorization: Bearer $TOKEN"`,
    method === 'POST' ? `-d '${JSON.stringify(body)}'` : '',
    `"$TRUSTWARD${place}${query === '' ? '' : `?${query}`}"`,
  ];
  return parts.filter((part) => part !== '').join(' ');
}

interface Document {
  info: { description?: string };
  tags?: readonly { name: string; description?: string }[];
  paths?: { [path: string]: { [method: string]: Operation } };
  components?: {
    schemas?: { [name: string]: JsonSchema };
    responses?: { [name: string]: { description: string } };
  };
}

export function docsPages(deps: HttpDeps): Route[] {
  const kept = new Map<string, Promise<string>>();
  const write = async (base: string, document: Promise<unknown>) =>
    (
      <Base value={base}>
        <Docs document={(await document) as Document} />
      </Base>
    ).toString();
  return [
    {
      method: 'GET',
      path: '/docs',
      scope: undefined,
      handle: async (context) => {
        const base = baseOf(context);
        const body = kept.get(base) ?? write(base, context.var.document());
        kept.set(base, body);
        return answerPage(deps, context, { title: 'HTTP endpoint', body: raw(await body) });
      },
    },
  ];
}

function Served() {
  const base = useContext(Base);
  if (base === '') return 'this endpoint';
  return (
    <>
      this endpoint with <code>{base}</code> at its end
    </>
  );
}

function OpenApiLink() {
  return <Link href={OPENAPI.path}>{useAddress()(OPENAPI.path)}</Link>;
}

function Docs({ document: { info, tags = [], paths = {}, components = {} } }: { document: Document }) {
  const placed = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): Placed => ({ method: method.toUpperCase(), path, operation })),
  );
  return (
    <>
      <h1>HTTP endpoint</h1>
      <p>
        <Words>{info.description ?? ''}</Words>
      </p>
      <p>
        The same for programs: <OpenApiLink />. In the lines to copy, <code>$TRUSTWARD</code> is the address of{' '}
        <Served />, <code>$TOKEN</code> is a token of it, and words in capitals are for you to fill in.
      </p>
      {tags.map(({ name, description = '' }) => (
        <section class="card">
          <h2>{description}</h2>
          {placed
            .filter(({ operation }) => operation.tags.includes(name))
            .map((one) => (
              <OperationPart {...one} />
            ))}
        </section>
      ))}
      <section class="card" id="refusals">
        <h2>Refusals</h2>
        <p>
          Each is problem details: <Link href={`#${schemaId('Problem')}`}>Problem</Link>.
        </p>
        <Table
          caption="Refusals"
          columns={['Status', 'Meaning']}
          rows={Object.entries(components.responses ?? {}).map(([name, { description }]) => ({
            cells: [name.replace('Problem', ''), <Words>{description}</Words>],
          }))}
        />
      </section>
      <section class="card">
        <h2>Schemas</h2>
        {Object.entries(components.schemas ?? {}).map(([name, schema]) => (
          <details>
            <summary>
              <h3>{name}</h3>
            </summary>
            <div id={schemaId(name)}>
              <Fields caption={name} head="Name" fields={fieldsOf(schema)} />
            </div>
          </details>
        ))}
      </section>
    </>
  );
}
