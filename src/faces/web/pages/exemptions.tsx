// web: exemptions: those in force with what they cover now, those that are over, a form to add one, and one to end each. In: forms.
// Out: pages. An exemption that ends soon or never matched anything is marked as the last run found it.

import { z } from 'zod';
import { spanText } from '../../../base/time.ts';
import { givenText, nameField, saidFields } from '../../../contract/operation.ts';
import { EXEMPTIONS } from '../../../contract/operator.ts';
import {
  aboutText,
  type Covered,
  coveredBy,
  coveredText,
  type Exemption,
  FORGEABLE_FIELDS,
  SELECTOR_FIELDS,
} from '../../../domain/exemption.ts';
import { SUBJECT_KINDS } from '../../../domain/subjects.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { Problem } from '../../http/problem.ts';
import { type Ctx, leadTo, operationsOf, param, type Route, readForm, readSearch } from '../../http/route.ts';
import { subjectPath } from '../../report/document.ts';
import { countText } from '../../report/fact-text.ts';
import { Form, Link } from '../../report/html/link.tsx';
import { By, Code, Mark, Name, type Row, Table, When, Words } from '../../report/html/text.tsx';
import { type JoinedView, joinedText, joinedView } from '../../report/plan-view.ts';
import { addressOf } from '../address.ts';
import { answerPage, formPage, mayDo, readPage } from '../answer.tsx';
import { Act, Narrow, Pager, ReleasedTable, Said } from '../parts/act.tsx';

// The form that adds an exemption: of one subject by any of its names, or of all with a value in a field.

const SPANS = [
  ['1d', 'a day'],
  ['7d', 'a week'],
  ['30d', '30 days'],
  ['90d', '90 days'],
] as const;

function AddForm({ owner }: { owner: string }) {
  return (
    <section class="card">
      <h2>Add an exemption</h2>
      <Form method="post" action="/exemptions">
        <label class="field">
          <span>Who or what: a serial number, an e-mail address, an id, or the name of a service</span>
          <input type="text" name="subject" maxlength={1000} size={40} />
        </label>
        <details>
          <summary>All that share a value, or a name that no reading has shown yet</summary>
          <div class="act">
            <label class="field">
              <span>or all with</span>
              <select name="field">
                <option value=""></option>
                {Object.entries(SELECTOR_FIELDS).map(([field, kind]) => (
                  <option value={field}>
                    {field} (of a {kind})
                  </option>
                ))}
              </select>
            </label>
            <label class="field">
              <span>equal to</span>
              <input type="text" name="value" maxlength={1000} size={30} />
            </label>
            <label>
              <input type="checkbox" name="forgeable" value="yes" />
              Also by {FORGEABLE_FIELDS.join(', ')}, which devices report themselves
            </label>
          </div>
          <div class="act">
            <label class="field">
              <span>Kind of who is named above</span>
              <select name="kind">
                <option value="">any</option>
                {SUBJECT_KINDS.map((kind) => (
                  <option value={kind}>{kind}</option>
                ))}
              </select>
            </label>
            <label>
              <input type="checkbox" name="unseen" value="yes" />
              Accept a name that no reading has shown yet
            </label>
          </div>
        </details>
        <label class="field">
          <span>Who is responsible for it</span>
          <input type="text" name="owner" value={owner} required maxlength={1000} size={40} />
        </label>
        <Said of={EXEMPTIONS.addExemption} label="Exempt" reason="required" isField />
        <div class="act">
          <label class="field">
            <span>For</span>
            <select name="until">
              {SPANS.map(([span, words]) => (
                <option value={span}>{words}</option>
              ))}
            </select>
          </label>
          <label class="field">
            <span>or, instead, until the beginning of this day (UTC)</span>
            <input type="date" name="date" />
          </label>
        </div>
        <p>
          <label>
            <input type="checkbox" name="release" value="yes" />
            Also undo now what is in force on it
          </label>
        </p>
        <button type="submit" class="main">
          Exempt
        </button>
      </Form>
    </section>
  );
}

// Exemptions as rows.

const IN_FORCE_COLUMNS = ['About', 'Covers now', 'Why', 'Ends', 'Used last'];
const OVER_COLUMNS = ['About', 'Why', 'Was over', 'Ended by', 'Used last'];

const COUNTING_MS = 80;

async function inForceRows(deps: HttpDeps, exemptions: readonly Exemption[], canEnd: boolean): Promise<Row[]> {
  const operator = (await deps.reader.latestRun())?.findings?.operator;
  const ending = new Set(operator?.ending.map(({ id }) => id));
  const unused = new Set(operator?.unused.map(({ id }) => id));
  const covers = await coversOf(deps, exemptions);
  const nowMs = deps.clock.nowMs();
  const joined = new Map<string, JoinedView>();
  for (const one of exemptions) joined.set(one.id, await joinedView(deps.reader, one, nowMs));
  return exemptions.map((one) => ({
    id: `exemption-${one.id}`,
    cells: [
      <About exemption={one} />,
      <>
        <Covers covered={covers.get(one.id)} />
        <Joined exemption={one} joined={joined.get(one.id)} canConfirm={canEnd} />
      </>,
      <Why exemption={one} />,
      <>
        in {spanText(one.expiresAt - nowMs)} {ending.has(one.id) ? <Mark word="ends soon" tone="wait" /> : null}
        <div class="quiet">
          <When at={one.expiresAt} />
        </div>
      </>,
      <>
        {one.usedAt === undefined ? 'never' : <When at={one.usedAt} />}{' '}
        {unused.has(one.id) ? <Mark word="unused" tone="wait" /> : null}
      </>,
      ...(canEnd
        ? [
            <Act
              to={`/exemptions/${encodeURIComponent(one.id)}/end`}
              label="End"
              isFolded
              reason="required"
              tone="danger"
            />,
          ]
        : []),
    ],
  }));
}

function overRow(exemption: Exemption): Row {
  const { id, expiresAt, endedAt, endedBy, endedReason, usedAt } = exemption;
  return {
    id: `exemption-${id}`,
    cells: [
      <About exemption={exemption} />,
      <Why exemption={exemption} />,
      <When at={endedAt ?? expiresAt} />,
      endedAt === undefined ? (
        'its time was over'
      ) : (
        <>
          <By>{endedBy ?? 'somebody'}</By>
          {endedReason === undefined ? null : (
            <div>
              <Words>{endedReason}</Words>
            </div>
          )}
        </>
      ),
      usedAt === undefined ? 'never' : <When at={usedAt} />,
    ],
  };
}

function About({ exemption }: { exemption: Exemption }) {
  const { id, subject } = exemption;
  const about = <Words>{aboutText(exemption)}</Words>;
  return (
    <>
      {subject ? <Link href={subjectPath(subject.kind, subject.id)}>{about}</Link> : <b>{about}</b>}
      {exemption.acceptForgeable ? <div class="quiet">devices report this themselves</div> : null}
      <div class="quiet">
        <Code>{id}</Code>
      </div>
    </>
  );
}

function Why({ exemption: { reason, owner, createdBy, createdAt } }: { exemption: Exemption }) {
  return (
    <>
      <Words>{reason}</Words>
      <div>
        <Name>{owner}</Name> is responsible for it
      </div>
      <div class="quiet">
        added by <By>{createdBy}</By>, <When at={createdAt} />
      </div>
    </>
  );
}

/** Neither acted on nor exempt until a person says yes. */
function Joined(props: { exemption: Exemption; joined: JoinedView | undefined; canConfirm: boolean }) {
  const text = props.joined && joinedText(props.joined);
  if (text === undefined) return null;
  return (
    <div>
      <Mark word="waits for a yes" tone="wait" /> <Words>{text}</Words>
      {props.canConfirm ? (
        <Act
          to={`/exemptions/${encodeURIComponent(props.exemption.id)}/confirm`}
          label="Cover these too"
          reason="required"
        />
      ) : null}
    </div>
  );
}

type Counted = Covered | 'unknown' | 'not counted';

function Covers({ covered }: { covered: Counted | undefined }) {
  if (covered === undefined || covered === 'not counted') return <span class="quiet">not counted here</span>;
  if (covered === 'unknown') return <span class="quiet">cannot be known before it is used</span>;
  return (
    <>
      {covered.count === 0 ? <Mark word="nothing" tone="wait" /> : null} <Words>{coveredText(covered)}</Words>
    </>
  );
}

async function coversOf({ reader, clock }: HttpDeps, exemptions: readonly Exemption[]): Promise<Map<string, Counted>> {
  const begunMs = clock.monotonicMs();
  const counted = new Map<string, Counted>();
  const byId = new Map<string, Counted>();
  for (const one of exemptions) {
    const about = aboutText(one);
    let covered = counted.get(about);
    if (covered === undefined && clock.monotonicMs() - begunMs <= COUNTING_MS) {
      covered = (await coveredBy(reader, one)) ?? 'unknown';
      counted.set(about, covered);
    }
    byId.set(one.id, covered ?? 'not counted');
  }
  return byId;
}

const PATH = '/exemptions';
const PAGE = 50;

const query = z.strictObject({
  list: z.enum(['in-force', 'over']).default('in-force'),
  before: nameField.optional(),
});
const addForm = z.strictObject({
  ...saidFields(EXEMPTIONS.addExemption),
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

export function exemptionPages(deps: HttpDeps): Route[] {
  return [
    readPage(deps, PATH, async (context) => ({
      title: 'Exemptions',
      section: PATH,
      body: await listed(deps, context),
    })),
    { method: 'POST', path: PATH, scope: 'approve', handle: (context) => add(deps, context) },
    formPage(deps, '/exemptions/:id/end', 'approve', async (context) => {
      const form = await readForm(context, EXEMPTIONS.endExemption.body);
      await operationsOf(deps, context).endExemption({ id: param(context, 'id'), ...form });
      return addressOf(PATH, { list: 'over' });
    }),
    formPage(deps, '/exemptions/:id/confirm', 'approve', async (context) => {
      const id = param(context, 'id');
      const form = await readForm(context, EXEMPTIONS.confirmExemption.body);
      await operationsOf(deps, context).confirmExemption({ id, ...form });
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
  const { subject, kind, unseen, field, value, owner, until, date, release, forgeable, ...said } = given;
  if ((field === undefined) !== (value === undefined))
    throw wrong(field === undefined ? 'field' : 'value', 'is missing: “all with” needs a field and its value');
  const request = {
    ...(subject !== undefined && { subject: { kind, id: subject } }),
    ...(field !== undefined && value !== undefined && { selector: { field, value } }),
    ...{ owner, ...said, until: date ?? until, unseen: unseen === 'yes', release: release === 'yes' },
    acceptForgeable: forgeable === 'yes',
  };
  const { released, ...exemption } = await operationsOf(deps, context).addExemption(request);
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
