// web: one box that finds a device, user or service by any of its names, and a run, plan, action or exemption by its number or id. In: what
// was typed. Out: the page of the one that it names, those that it may name, or what was searched and what to do.

import { z } from 'zod';
import { AppError } from '../../domain/errors.ts';
import { type Named, nothingKnown, resolveName } from '../../domain/resolve-name.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { readQuery } from '../../http/input.ts';
import { leadTo, type Route } from '../../http/route.ts';
import { Form, Link } from '../../report/html/link.tsx';
import { type Row, Table } from '../../report/html/table.tsx';
import { Code, Name, When, Words } from '../../report/html/text.tsx';
import { subjectPath } from '../../report/html/who.tsx';
import { addressOf } from '../address.ts';
import { readPage } from '../answer.tsx';

const query = z.strictObject({ q: z.string().max(1_000).optional() });

export function searchPages(deps: HttpDeps): Route[] {
  return [
    readPage(deps, '/search', async (context) => {
      const { q = '' } = readQuery(context, query);
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
      return { title: `Search: ${asked}`, find: asked, body: <Search asked={asked} among={among} /> };
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

function Search({ asked, among = [] }: { asked: string; among?: readonly Named[] }) {
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
      {asked === '' ? null : among.length === 0 ? <Nothing asked={asked} /> : <Several asked={asked} among={among} />}
      <Hints />
    </>
  );
}

function Nothing({ asked }: { asked: string }) {
  return (
    <div class="notice wait" role="status">
      <p>
        <Words>{nothingKnown(asked).message}</Words>. No run, plan, action or exemption has this number or id either.
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
