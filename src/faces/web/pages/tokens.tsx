// web: the tokens of the endpoint: listed, made and revoked by who has the scope `admin`. In: forms. Out: pages; a new token is on the
// answer to its form and nowhere else: in no address, and on no page that can be read again.
import { z } from 'zod';
import { nameField } from '../../../contract/operation.ts';
import { SCOPES } from '../../../domain/endpoint-token.ts';
import { AppError } from '../../../domain/errors.ts';
import { type Named, nothingKnown, resolveName } from '../../../domain/identity.ts';
import type { HttpDeps } from '../../http/deps.ts';
import {
  type Ctx,
  leadTo,
  operationsOf,
  param,
  type Route,
  readForm,
  readQuery,
  readSearch,
} from '../../http/route.ts';
import { subjectPath } from '../../report/document.ts';
import { Form, Link } from '../../report/html/link.tsx';
import { By, Code, Mark, Name, type Row, Table, When, Words } from '../../report/html/text.tsx';
import { tokenView } from '../../report/token-view.ts';
import { addressOf, partAfter } from '../address.ts';
import { answerPage, formPage, readPage } from '../answer.tsx';
import { Act, Narrow, Pager } from '../parts/act.tsx';

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
  signals: 'receives signals of what was done, as TRUSTWARD_SIGNAL_RECEIVERS says',
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
      await operationsOf(deps, context).revokeToken({ name: param(context, 'name') });
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
                <option value={scope} selected={scope === 'read'}>
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
        <When at={createdAt} /> by <By>{createdBy}</By>
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
  const { token: text, name, scope, expiresAt } = await operationsOf(deps, context).addToken(request);
  const content = {
    title: 'A new token',
    section: PATH,
    body: (
      <>
        <h1>A new token</h1>
        <section class="card">
          <div class="notice wait">
            <b>Copy it now: it is shown only once.</b> Trustward stores its hash only.
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

// One box that finds a device, user or service by any of its names, and a run, plan, action or exemption by its number
// or id.

const searchQuery = z.strictObject({ q: z.string().max(1_000).optional() });

export function searchPages(deps: HttpDeps): Route[] {
  return [
    readPage(deps, '/search', async (context) => {
      const { q = '' } = readQuery(context, searchQuery);
      const asked = q.trim();
      if (asked === '') return { title: 'Search', body: <Search asked="" /> };
      const resolved = await resolveName(deps.reader, asked);
      if (resolved.found === 'one') {
        const { kind, subjects } = resolved.named;
        return leadTo(context, subjectPath(kind, subjects[0].id));
      }
      const found = resolved.found === 'none' ? await recordPath(deps, asked) : undefined;
      if (found !== undefined) return leadTo(context, found);
      const among = resolved.found === 'several' ? resolved.among : [];
      const near = resolved.found === 'none' ? resolved.near : [];
      return { title: `Search: ${asked}`, find: asked, body: <Search asked={asked} among={among} near={near} /> };
    }),
  ];
}

const NUMBER = /^\d{1,15}$/;
/** An id, or as much of its beginning as lists show. */
const ID = /^[0-9a-z]{6,26}$/;

/** A subject's name goes before: what a number or an id means is asked only when nothing is called so. */
async function recordPath({ reader }: HttpDeps, asked: string): Promise<string | undefined> {
  if (NUMBER.test(asked)) {
    const run = await unlessSeveral(reader.run(asked));
    if (run) return `/runs/${run.seq}`;
  }
  const id = asked.toLowerCase();
  if (!ID.test(id)) return undefined;
  const plan = await unlessSeveral(reader.plan(id));
  if (plan) return `/plans/${encodeURIComponent(plan.id)}`;
  const [intent] = await reader.intents({ ids: [id] });
  if (intent) return `/intents/${encodeURIComponent(intent.id)}`;
  const exemption = (await reader.exemptions()).find((one) => one.id === id);
  if (exemption) return `/exemptions#exemption-${encodeURIComponent(exemption.id)}`;
  const run = await unlessSeveral(reader.run(id));
  return run && `/runs/${run.seq}`;
}

/** The beginning of several ids names none of them. */
async function unlessSeveral<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof AppError && error.code === 'usage') return undefined;
    throw error;
  }
}

interface Found {
  asked: string;
  among?: readonly Named[];
  near?: readonly string[] | undefined;
}

function Search({ asked, among = [], near }: Found) {
  return (
    <>
      <h1>Search</h1>
      <search>
        <Form action="/search" method="get" class="act">
          <label class="field">
            <span>Serial number, name, e-mail, service, or an id</span>
            <input type="search" name="q" value={asked} maxlength={1000} autofocus={asked === ''} />
          </label>
          <button type="submit" class="main">
            Search
          </button>
        </Form>
      </search>
      {asked === '' ? null : among.length === 0 ? (
        <Nothing asked={asked} near={near} />
      ) : (
        <Several asked={asked} among={among} />
      )}
      <Hints />
    </>
  );
}

function Nothing({ asked, near }: Pick<Found, 'asked' | 'near'>) {
  return (
    <div class="notice wait" role="status">
      <p>
        <Words>{nothingKnown(asked, near).message}</Words>. No run, plan, action or exemption has this number or id
        either.
      </p>
      <p>
        What joined since the last run is known after the next one. The audit may still have it:{' '}
        <Link href={addressOf('/audit', { target: asked })}>
          entries about <Name>{asked}</Name>
        </Link>
        .
      </p>
    </div>
  );
}

function Several({ asked, among }: { asked: string; among: readonly Named[] }) {
  return (
    <section class="card">
      <h2>
        <Name>{asked}</Name> names {among.length}
      </h2>
      <Table
        caption="What it may name"
        columns={['Name', 'Kind', 'Serial number', 'Owners', 'Id']}
        rows={among.map(row)}
      />
    </section>
  );
}

function row({ kind, subjects }: Named): Row {
  const [{ id, name, serial, owners = [], goneAt }] = subjects;
  return {
    cells: [
      <>
        <Link href={subjectPath(kind, id)}>
          <Name>{name || serial || id}</Name>
        </Link>
        {goneAt === undefined ? null : (
          <div class="quiet">
            gone since <When at={goneAt} />
          </div>
        )}
      </>,
      kind,
      serial === '' ? null : <Code>{serial}</Code>,
      owners.slice(0, 3).map((owner) => (
        <div>
          <Name>{owner}</Name>
        </div>
      )),
      <Code>{id}</Code>,
    ],
  };
}

function Hints() {
  return (
    <section class="card">
      <h2>What it finds</h2>
      <ul>
        <li>a device by its serial number, its name or its DeviceID</li>
        <li>a user by e-mail address or name: their page lists their devices</li>
        <li>a service by name or ServiceID</li>
        <li>a run by its number, and a run, plan, action or exemption by its id, when nothing is called so</li>
      </ul>
      <p class="quiet">Give the whole name, in any case.</p>
    </section>
  );
}
