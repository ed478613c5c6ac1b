// web: one operation of the endpoint for people: what it does, its scope, what it takes, what it answers, and a line to copy. In: the
// operation of the document. Out: a part of the page.

import type { Described } from '../../../http/described.ts';
import { Link } from '../../../report/html/link.tsx';
import { Table } from '../../../report/html/table.tsx';
import { Words } from '../../../report/html/text.tsx';
import { About, type Field, fieldsOf, type JsonSchema, TypeOf } from './fields.tsx';

type Media = { [type: string]: { schema?: JsonSchema } };

/** An operation as the document has it. */
export interface Operation extends Pick<Described, 'operationId' | 'summary' | 'description'> {
  tags: readonly string[];
  security?: readonly { token?: readonly string[] }[];
  parameters?: readonly { name: string; in: string; required: boolean; schema: JsonSchema }[];
  requestBody?: { required?: boolean; content: Media };
  responses: { [status: string]: { $ref?: string; description?: string; content?: Media } };
}

export interface Placed {
  method: string;
  path: string;
  operation: Operation;
}

export function OperationPart({ method, path, operation }: Placed) {
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

export function Fields({ caption, head, fields }: { caption: string; head: string; fields: readonly Field[] }) {
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

export function scopeOf({ security }: Operation): string | undefined {
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
