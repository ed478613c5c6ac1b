// web: actions that need a person: in doubt, parked, failed and still to be done. In: the store. Out: a page with what the server answered
// last, what happens by itself next, and a form to resolve each.

import { z } from 'zod';
import { type Intent, RESOLUTIONS } from '../../domain/intent.ts';
import { nextText } from '../../domain/intent-next.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { readForm } from '../../http/form.ts';
import { givenText, nameField, readSearch } from '../../http/input.ts';
import { type Ctx, param, type Route } from '../../http/route.ts';
import { countText } from '../../report/fact-text.ts';
import { Link } from '../../report/html/link.tsx';
import { Table } from '../../report/html/table.tsx';
import { Term, When, Words } from '../../report/html/text.tsx';
import { addressOf } from '../address.ts';
import { formPage, mayDo, readPage } from '../answer.tsx';
import { partAfter } from '../part-after.ts';
import { Narrow } from '../parts/narrow.tsx';
import { OutcomeMark } from '../parts/outcome-mark.tsx';
import { Pager } from '../parts/pager.tsx';
import { Target } from '../parts/target.tsx';
import { intentPage } from './in-doubt/intent.tsx';
import { Meanings, ResolveForm } from './in-doubt/resolve.tsx';

const PAGE = 50;
/** Of each state, where all are shown. */
const FIRST = 15;
const PATH = '/in-doubt';

const STATES = [
  { state: 'unknown', title: 'In doubt', lead: 'Whether it was done is not known.' },
  { state: 'parked', title: 'Parked', lead: 'Trustward gave up trying by itself: a person has to look.' },
  { state: 'failed', title: 'Failed and still to be done', lead: 'The server refused it, and its rule still matches.' },
] as const;
type State = (typeof STATES)[number]['state'];

const query = z.strictObject({
  state: z.enum(['unknown', 'parked', 'failed']).optional(),
  before: nameField.optional(),
});
const form = z.strictObject({ as: z.enum(RESOLUTIONS), reason: givenText });

export function inDoubtPages(deps: HttpDeps): Route[] {
  return [
    readPage(deps, PATH, async (context) => {
      const { state, before } = readSearch(context, query);
      const shown = STATES.filter((one) => state === undefined || one.state === state);
      return {
        title: 'In doubt',
        section: PATH,
        body: (
          <>
            <h1>Actions that need a person</h1>
            {mayDo(context, 'approve') ? <Meanings /> : null}
            <div id="doubts">
              <Narrow scope="doubts" noun="actions of this page" />
              {
                await Promise.all(
                  shown.map((one) =>
                    section(deps, context, one, state === undefined ? { limit: FIRST } : { limit: PAGE, before }),
                  ),
                )
              }
            </div>
          </>
        ),
      };
    }),
    intentPage(deps),
    formPage(deps, '/intents/:id/resolve', 'approve', async (context) => {
      const { as, reason } = await readForm(context, form);
      const intent = await deps.operator.resolve(param(context, 'id'), as, { by: context.var.caller.name, reason });
      return `/intents/${encodeURIComponent(intent.id)}`;
    }),
  ];
}

async function section(deps: HttpDeps, context: Ctx, { state, title, lead }: (typeof STATES)[number], part: Part) {
  const { rows, total, hasMore } = await intentsOf(deps, state, part);
  const next = hasMore ? addressOf(PATH, { state, before: rows.at(-1)?.id }) : undefined;
  return (
    <section class="card">
      <h2>
        {title}: {countText(total)}
      </h2>
      <p>{lead}</p>
      <Table
        caption={title}
        columns={[
          'Action',
          'About',
          'State',
          'Since',
          'Last answer',
          'Next',
          ...(mayDo(context, 'approve') ? ['Resolve'] : []),
        ]}
        rows={rows.map((intent) => ({ id: intent.id, cells: cellsOf(intent, context) }))}
        empty="None."
      />
      <Pager next={next} text={state === 'failed' ? 'Newer' : 'Older'} />
    </section>
  );
}

interface Part {
  limit: number;
  /** The id of the last one of the page before. */
  before?: string | undefined;
}

/** The newest first, but failures the oldest first. */
async function intentsOf({ reader }: HttpDeps, state: State, { limit, before }: Part) {
  if (state === 'failed') {
    const all = await reader.openFailures();
    return { ...partAfter(all, before, limit), total: all.length };
  }
  const query = { outcome: state, ...(before !== undefined && { before }) };
  const { rows, total } = await reader.newestIntents(query, limit + 1);
  return { rows: rows.slice(0, limit), total, hasMore: rows.length > limit };
}

function cellsOf(intent: Intent, context: Ctx) {
  const { id, action, undo, note, settledAt, sentAt, createdAt } = intent;
  return [
    <Link href={`/intents/${encodeURIComponent(id)}`}>
      <Term>{action}</Term>
      {undo ? ' (undo)' : ''}
    </Link>,
    <Target {...intent} />,
    <OutcomeMark intent={intent} />,
    <When at={settledAt ?? sentAt ?? createdAt} />,
    note === undefined ? null : <Words>{note}</Words>,
    nextText(intent) ?? null,
    ...(mayDo(context, 'approve') ? [<ResolveForm intent={intent} />] : []),
  ];
}
