// web: the tokens of the endpoint: listed, made and revoked by who has the scope `admin`. In: forms. Out: pages; a new token is on the
// answer to its form and nowhere else: in no address, and on no page that can be read again.

import { z } from 'zod';
import { SCOPES } from '../../domain/endpoint-token.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { readForm } from '../../http/form.ts';
import { nameField, readSearch } from '../../http/input.ts';
import { type Ctx, param, type Route } from '../../http/route.ts';
import { Form, Link } from '../../report/html/link.tsx';
import { Mark } from '../../report/html/marks.tsx';
import { type Row, Table } from '../../report/html/table.tsx';
import { Code, Name, When } from '../../report/html/text.tsx';
import { tokenView } from '../../report/token-view.ts';
import { addressOf } from '../address.ts';
import { answerPage, formPage } from '../answer.tsx';
import { partAfter } from '../part-after.ts';
import { Act } from '../parts/act.tsx';
import { Narrow } from '../parts/narrow.tsx';
import { Pager } from '../parts/pager.tsx';

const PATH = '/tokens';
const PAGE = 50;

const query = z.strictObject({ before: nameField.optional() });
const form = z.strictObject({
  name: nameField,
  scope: z.enum(SCOPES),
  expires: z.string().trim().min(1).max(100).optional(),
});

const OF_CONFIGURATION = (
  <>
    The token of the configuration, <code>admin</code>, is not listed.
  </>
);
const OF_ALL = (
  <>
    A token of the configuration, and tokens of all organizations (
    <code>trustward tokens list --all-organizations</code>
    ), open this one, too. They are not listed.
  </>
);

const MEANINGS: Record<(typeof SCOPES)[number], string> = {
  read: 'reads everything',
  trigger: 'also starts runs',
  approve: 'also answers plans and gives operator commands',
  admin: 'also makes and revokes tokens',
};

export function tokenPages(deps: HttpDeps): Route[] {
  return [
    {
      method: 'GET',
      path: PATH,
      scope: 'admin',
      handle: async (context) => {
        const { before } = readSearch(context, query);
        return answerPage(deps, context, {
          title: 'Tokens',
          section: PATH,
          body: await listed(deps, before),
        });
      },
    },
    { method: 'POST', path: PATH, scope: 'admin', handle: (context) => made(deps, context) },
    formPage(deps, '/tokens/:name/revoke', 'admin', async (context) => {
      await readForm(context, z.strictObject({}));
      await deps.tokens.revoke(param(context, 'name'), context.var.caller.name);
      return PATH;
    }),
  ];
}

async function listed({ reader, clock, isDaemon }: HttpDeps, before: string | undefined) {
  const nowMs = clock.nowMs();
  const all = (await reader.endpointTokens()).map((token) => tokenView(token, nowMs));
  const { rows, hasMore } = partAfter(all, before, PAGE);
  const next = hasMore ? addressOf(PATH, { before: rows.at(-1)?.id }) : undefined;
  return (
    <>
      <h1>Tokens</h1>
      <p>
        Who may use the HTTP endpoint and sign in to these pages. {isDaemon ? OF_CONFIGURATION : OF_ALL}{' '}
        <Link href="/docs">What they can ask for</Link>.
      </p>
      <section class="card">
        <h2>Make a token</h2>
        <Form class="act" method="post" action={PATH}>
          <label class="field">
            <span>Name, which the audit records</span>
            <input type="text" name="name" required maxlength={64} autocomplete="off" />
          </label>
          <label class="field">
            <span>Scope</span>
            <select name="scope">
              {SCOPES.map((scope) => (
                <option value={scope}>
                  {scope}: {MEANINGS[scope]}
                </option>
              ))}
            </select>
          </label>
          <label class="field">
            <span>Ends in, or at a date</span>
            <input type="text" name="expires" placeholder="90d or 2027-01-31; empty: never" maxlength={100} size={30} />
          </label>
          <button type="submit" class="main">
            Make the token
          </button>
        </Form>
      </section>
      <section class="card" id="list">
        <h2>Tokens</h2>
        <Narrow scope="list" noun="tokens of this page" />
        <Table
          caption="Tokens, newest first"
          columns={['Token', 'Scope', 'State', 'Made', 'Ends', 'Used last', 'Revoke']}
          rows={rows.map(rowOf)}
          empty="No token was made."
        />
        <Pager next={next} />
      </section>
    </>
  );
}

function rowOf(token: ReturnType<typeof tokenView>): Row {
  const { name, scope, good, createdAt, createdBy, expiresAt, revokedAt, revokedBy, usedAt } = token;
  const state = revokedAt !== null ? 'revoked' : good ? 'valid' : 'ended';
  return {
    cells: [
      <Code>{name}</Code>,
      scope,
      <Mark word={state} tone={good ? 'good' : 'calm'} />,
      <>
        <When at={createdAt} /> by <Name>{createdBy}</Name>
      </>,
      revokedAt === null ? (
        expiresAt === null ? (
          'when it is revoked'
        ) : (
          <When at={expiresAt} />
        )
      ) : (
        <>
          <When at={revokedAt} /> by <Name>{revokedBy ?? 'somebody'}</Name>
        </>
      ),
      usedAt === null ? 'never' : <When at={usedAt} />,
      revokedAt === null ? (
        <Act
          to={`/tokens/${encodeURIComponent(name)}/revoke`}
          label={`Revoke ${name}`}
          tone="danger"
          confirm={`Revoke the token ${name}? It is refused from the next request on, and everybody who signed in with it is signed out.`}
        />
      ) : null,
    ],
  };
}

async function made(deps: HttpDeps, context: Ctx): Promise<Response> {
  const request = await readForm(context, form);
  const { token, text } = await deps.tokens.add(request, context.var.caller.name);
  const { name, scope, expiresAt } = tokenView(token, deps.clock.nowMs());
  const content = {
    title: 'A new token',
    section: PATH,
    body: (
      <>
        <h1>A new token</h1>
        <section class="card">
          <div class="notice wait">
            <b>Keep it now: it is shown this once.</b> Trustward stores its hash only.
          </div>
          <p class="lead">
            <Code>{text}</Code>
          </p>
          <p>
            It is called <Code>{name}</Code>, has the scope <b>{scope}</b>, and is valid until{' '}
            {expiresAt === null ? 'it is revoked' : <When at={expiresAt} />}.
          </p>
          <p>
            <Link href={PATH}>All tokens</Link>
          </p>
        </section>
      </>
    ),
  } as const;
  return answerPage(deps, context, content, 201);
}
