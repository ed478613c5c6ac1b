// web: exemptions: those in force with what they cover now, those that are over, a form to add one, and one to end each. In: forms.
// Out: pages. An exemption that ends soon or never matched anything is marked as the last run found it.

import { z } from 'zod';
import { SELECTOR_FIELDS } from '../../domain/exemption.ts';
import { SUBJECT_KINDS } from '../../domain/subjects.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { readForm } from '../../http/form.ts';
import { givenText, nameField, readSearch } from '../../http/input.ts';
import { Problem } from '../../http/problem.ts';
import { type Ctx, leadTo, param, type Route } from '../../http/route.ts';
import { countText } from '../../report/fact-text.ts';
import { Link } from '../../report/html/link.tsx';
import { Table } from '../../report/html/table.tsx';
import { Name, Words } from '../../report/html/text.tsx';
import { addressOf } from '../address.ts';
import { answerPage, formPage, mayDo, readPage } from '../answer.tsx';
import { Narrow } from '../parts/narrow.tsx';
import { Pager } from '../parts/pager.tsx';
import { ReleasedTable } from '../parts/released.tsx';
import { AddForm } from './exemptions/add-form.tsx';
import { IN_FORCE_COLUMNS, inForceRows, OVER_COLUMNS, overRow } from './exemptions/rows.tsx';

const PATH = '/exemptions';
const PAGE = 50;

const query = z.strictObject({
  list: z.enum(['in-force', 'over']).default('in-force'),
  before: nameField.optional(),
});
const addForm = z.strictObject({
  subject: nameField.optional(),
  kind: z.enum(SUBJECT_KINDS).optional(),
  unseen: z.literal('yes').optional(),
  field: z.enum(Object.keys(SELECTOR_FIELDS)).optional(),
  value: nameField.optional(),
  owner: givenText,
  reason: givenText,
  until: z.string().trim().min(1).max(100),
  date: z.string().trim().min(1).max(100).optional(),
  release: z.literal('yes').optional(),
  forgeable: z.literal('yes').optional(),
});
const reasonForm = z.strictObject({ reason: givenText });
const confirmForm = reasonForm.extend({ subject: nameField.optional() });

export function exemptionPages(deps: HttpDeps): Route[] {
  return [
    readPage(deps, PATH, async (context) => ({
      title: 'Exemptions',
      section: PATH,
      body: await listed(deps, context),
    })),
    { method: 'POST', path: PATH, scope: 'approve', handle: (context) => add(deps, context) },
    formPage(deps, '/exemptions/:id/end', 'approve', async (context) => {
      const { reason } = await readForm(context, reasonForm);
      await deps.operator.endExemption(param(context, 'id'), { by: context.var.caller.name, reason });
      return addressOf(PATH, { list: 'over' });
    }),
    formPage(deps, '/exemptions/:id/confirm', 'approve', async (context) => {
      const id = param(context, 'id');
      await deps.operator.confirmJoined(id, {
        ...(await readForm(context, confirmForm)),
        by: context.var.caller.name,
      });
      return `${PATH}#exemption-${encodeURIComponent(id)}`;
    }),
  ];
}

async function listed(deps: HttpDeps, context: Ctx) {
  const { list, before } = readSearch(context, query);
  const isOver = list === 'over';
  const nowMs = deps.clock.nowMs();
  const { rows, total } = await deps.reader.exemptionPage({
    ...(isOver ? { overAt: nowMs } : { inForceAt: nowMs }),
    ...(before !== undefined && { before }),
    limit: PAGE + 1,
  });
  const shown = rows.slice(0, PAGE);
  const next = rows.length > PAGE ? addressOf(PATH, { list, before: shown.at(-1)?.id }) : undefined;
  const canEnd = mayDo(context, 'approve');
  return (
    <>
      <h1>Exemptions</h1>
      <p>
        An exemption protects a subject from actions for a limited time. It never blocks an undo, and what is in force
        stays unless it is released.
      </p>
      <nav class="tools" aria-label="Lists of exemptions">
        <Link class="button" href={PATH} aria-current={isOver ? undefined : 'page'}>
          In force
        </Link>
        <Link class="button" href={addressOf(PATH, { list: 'over' })} aria-current={isOver ? 'page' : undefined}>
          Over
        </Link>
      </nav>
      <section class="card" id="list">
        <h2>
          {isOver ? 'Over' : 'In force'}: {countText(total)}
        </h2>
        <Narrow scope="list" noun="exemptions of this page" />
        {isOver ? (
          <Table
            caption="Exemptions that are over, newest first"
            columns={OVER_COLUMNS}
            rows={shown.map((one) => overRow(one))}
            empty="None is over."
          />
        ) : (
          <Table
            caption="Exemptions in force, newest first"
            columns={[...IN_FORCE_COLUMNS, ...(canEnd ? ['End'] : [])]}
            rows={await inForceRows(deps, shown, canEnd)}
            empty="None is in force."
          />
        )}
        <Pager next={next} />
      </section>
      {canEnd && !isOver ? <AddForm owner={context.var.caller.name} /> : null}
    </>
  );
}

/** Leads to the list, unless something was to be released: then it shows what came of that. */
async function add(deps: HttpDeps, context: Ctx): Promise<Response> {
  const given = await readForm(context, addForm);
  const { subject, kind, unseen, field, value, owner, reason, until, date, release, forgeable } = given;
  if ((field === undefined) !== (value === undefined))
    throw wrong(field === undefined ? 'field' : 'value', 'is missing: “all with” needs a field and its value');
  const request = {
    ...(subject !== undefined && { subject: { kind, id: subject } }),
    ...(field !== undefined && value !== undefined && { selector: { field, value } }),
    ...{ owner, reason, until: date ?? until, unseen: unseen === 'yes', release: release === 'yes' },
    acceptForgeable: forgeable === 'yes',
  };
  const { exemption, released } = await deps.operator.exempt(request, context.var.caller.name);
  if (!request.release) return leadTo(context, `${PATH}#exemption-${encodeURIComponent(exemption.id)}`);
  return answerPage(deps, context, {
    title: 'Exempted',
    section: PATH,
    body: (
      <>
        <h1>Exempted</h1>
        <section class="card">
          <p>
            <Name>{exemption.owner}</Name> is responsible for it: <Words>{exemption.reason}</Words>
          </p>
          <h2>Released</h2>
          <ReleasedTable released={released} />
          <p>
            <Link href={PATH}>All exemptions</Link>
          </p>
        </section>
      </>
    ),
  });
}

function wrong(path: string, message: string): Problem {
  const errors = [{ path, message }];
  return new Problem(400, 'bad-request', 'The request is wrong', `the form is wrong: \`${path}\` ${message}`, {
    errors,
  });
}
