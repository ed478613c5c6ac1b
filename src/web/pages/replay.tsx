// web: replays: a form that asks for one, and what the last one found. In: the daemon's replays. Out: a page, which reads itself again while one
// is under way; no part of it needs JavaScript. Names in it are hostile.

import { z } from 'zod';
import { spanText } from '../../domain/age-text.ts';
import type { ReplayBeside } from '../../domain/replay-beside.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { readForm } from '../../http/form.ts';
import { nameField, readQuery } from '../../http/input.ts';
import type { Ctx, Route } from '../../http/route.ts';
import { Form, Link } from '../../report/html/link.tsx';
import { ReplayParts } from '../../report/html/replay/parts.tsx';
import { Code, Name, When, Words } from '../../report/html/text.tsx';
import { replaySchema } from '../../report/replay/schema.ts';
import { addressOf } from '../address.ts';
import { answerPage, formPage, mayDo } from '../answer.tsx';
import type { PageContent } from '../layout.tsx';

/** Rows of each table: more make a page that is slow to read. */
const ROWS_MAX = 100;
const AGAIN_SECONDS = 3;

const replayForm = z.strictObject({
  way: z.enum(['what_if', 'as_was']).default('what_if'),
  since: z.string().max(40).default('30d'),
  rule: nameField.optional(),
});

/** Where a rule's page leads to. */
export function replayPath(rule: string): string {
  return addressOf('/replay', { rule });
}

export function replayPages(deps: HttpDeps): Route[] {
  return [
    { method: 'GET', path: '/replay', scope: 'read', handle: (context) => showPage(deps, context) },
    formPage(deps, '/replay', 'trigger', async (context) => {
      const { way, since, rule } = await readForm(context, replayForm);
      await deps.replays.begin({ way, since, rule }, context.var.caller.name);
      return rule === undefined ? '/replay' : replayPath(rule);
    }),
  ];
}

async function showPage(deps: HttpDeps, context: Ctx): Promise<Response> {
  const { rule } = readQuery(context, z.strictObject({ rule: nameField.optional() }));
  const last = await deps.replays.current();
  const answer = await answerPage(deps, context, pageOf(deps, last, rule, mayDo(context, 'trigger')));
  if (last && last.finishedAt === undefined) answer.headers.set('Refresh', `${AGAIN_SECONDS}`);
  return answer;
}

function pageOf(
  deps: HttpDeps,
  last: ReplayBeside | undefined,
  rule: string | undefined,
  mayAsk: boolean,
): PageContent {
  const isUnderWay = last !== undefined && last.finishedAt === undefined;
  return {
    title: 'Replay',
    section: '/rules',
    body: (
      <>
        <h1>Replay</h1>
        <p>
          What would a rule have done over the recorded time? It goes through the same code that decides a run. Nothing
          is sent, and the result is kept until the next replay,{' '}
          {deps.isDaemon ? 'or the end of the daemon' : 'for a day at most'}.
        </p>
        {mayAsk ? <Ask deps={deps} rule={rule ?? last?.asked.rule} isUnderWay={isUnderWay} /> : null}
        {last === undefined ? <p class="empty">No replay is kept.</p> : <Last deps={deps} last={last} />}
      </>
    ),
  };
}

function Ask({ deps, rule, isUnderWay }: { deps: HttpDeps; rule: string | undefined; isUnderWay: boolean }) {
  return (
    <Form method="post" action="/replay" class="card">
      <h2>New replay</h2>
      <label class="field">
        <span>Rule</span>
        <select name="rule">
          <option value="">all rules</option>
          {deps.rules().map(({ id }) => (
            <option value={id} selected={id === rule}>
              {id}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        <span>Since: a duration such as 30d, or a date</span>
        <input type="text" name="since" value="30d" required maxlength={40} />
      </label>
      <label class="field">
        <span>Way</span>
        <select name="way">
          <option value="what_if">what if: the present rules, enforced</option>
          <option value="as_was">as it was: the rules of that time</option>
        </select>
      </label>
      <button type="submit" class="main" disabled={isUnderWay}>
        Replay
      </button>
      {isUnderWay ? <p class="quiet">One replay runs at a time: wait until this one ends.</p> : null}
    </Form>
  );
}

function Last({ deps, last }: { deps: HttpDeps; last: ReplayBeside }) {
  const { asked, by, startedAt, finishedAt, notes, found, fault } = last;
  const took = spanText((finishedAt ?? deps.clock.nowMs()) - startedAt);
  return (
    <section>
      <h2>
        {finishedAt === undefined ? 'Under way' : 'The last one'}:{' '}
        {asked.rule === undefined ? 'all rules' : <Code>{asked.rule}</Code>}, since <Words>{asked.since}</Words>
      </h2>
      <p class="quiet" role={finishedAt === undefined ? 'status' : undefined}>
        Asked for by <Name>{by}</Name>, <When at={startedAt} />.{' '}
        {finishedAt === undefined ? `It has run for ${took}; this page reloads by itself.` : `It took ${took}.`}{' '}
        {finishedAt === undefined ? <Link href="/replay">Reload now</Link> : null}
      </p>
      {finishedAt === undefined
        ? notes?.map((note) => (
            <div class="notice wait" role="status">
              <Words>{note}</Words>
            </div>
          ))
        : null}
      {fault === undefined ? null : (
        <div class="notice bad" role="alert">
          <b>There is no result:</b> <Words>{fault}</Words>
        </div>
      )}
      {found === undefined ? null : <Found found={found} />}
    </section>
  );
}

/** It may have been kept since before an update, or come from an endpoint of another version. */
function Found({ found }: { found: object }) {
  const { success, data } = replaySchema.safeParse(found);
  if (success) return <ReplayParts replay={data} rowsMax={ROWS_MAX} isPage={true} />;
  return (
    <div class="notice wait" role="status">
      The result cannot be shown, since another version of Trustward made it: ask for it again.
    </div>
  );
}
