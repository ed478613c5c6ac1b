// web: the documentation of the HTTP endpoint, to browse: each operation with what it takes and answers, and the schemas. In: the OpenAPI
// document. Out: one page. Open to anybody, as the document is: it shows nothing of this organization, and is written once.

import { raw } from 'hono/html';
import { useContext } from 'hono/jsx';
import type { HttpDeps } from '../../http/deps.ts';
import { baseOf } from '../../http/mount.ts';
import { OPENAPI_PATH } from '../../http/path.ts';
import type { Route } from '../../http/route.ts';
import { Base, Link, useAddress } from '../../report/html/link.tsx';
import { Table } from '../../report/html/table.tsx';
import { Words } from '../../report/html/text.tsx';
import { answerPage } from '../answer.tsx';
import { fieldsOf, type JsonSchema, schemaId } from './docs/fields.tsx';
import { Fields, type Operation, OperationPart, type Placed } from './docs/operation.tsx';

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
  return <Link href={OPENAPI_PATH}>{useAddress()(OPENAPI_PATH)}</Link>;
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
