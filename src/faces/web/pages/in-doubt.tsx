// web: actions that need a person: in doubt, parked, failed and still to be done. In: the store. Out: a page with what the server answered
// last, what happens by itself next, and a form to resolve each.

import { z } from 'zod';
import { nameField } from '../../../contract/operation.ts';
import { DOUBTS } from '../../../contract/operator.ts';
import type { AuditEntry } from '../../../domain/audit-entry.ts';
import { AppError } from '../../../domain/errors.ts';
import { ownText } from '../../../domain/facts.ts';
import { type Intent, nextText, timesRefused } from '../../../domain/intent.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { type Ctx, operationsOf, param, type Route, readForm, readSearch } from '../../http/route.ts';
import { countText, factTexts, plural } from '../../report/fact-text.ts';
import { Form, Link } from '../../report/html/link.tsx';
import { Code, Lines, Table, Term, When, Words } from '../../report/html/text.tsx';
import { auditView } from '../../report/lists-text.ts';
import { addressOf, partAfter } from '../address.ts';
import { formPage, mayDo, readPage } from '../answer.tsx';
import { AUDIT_COLUMNS, AuditLink, auditRow, Live, Narrow, OutcomeMark, Pager, Target } from '../parts/act.tsx';

// Resolving a doubt or a failure: what each answer means, and the form.

const MEANINGS = [
  {
    as: 'done',
    label: 'It was done',
    text: 'It counts as confirmed, with its claims: it is undone when its rule no longer matches.',
  },
  {
    as: 'not-done',
    label: 'Give it up',
    text: 'It was not done and should not be: it failed, and is left alone while the match lasts.',
  },
  {
    as: 'retry',
    label: 'Try once more',
    text: 'The next run reads the target; if it is not done, it is sent once more, after all checks.',
  },
] as const;

function ResolveForm({ intent: { id } }: { intent: Pick<Intent, 'id'> }) {
  return (
    <Form class="act" method="post" action={`/intents/${encodeURIComponent(id)}/resolve`}>
      <label>
        <span class="unseen">Reason to resolve intent {id}</span>
        <input type="text" name="reason" placeholder="Reason" required maxlength={1000} />
      </label>
      {MEANINGS.map(({ as, label }) => (
        <button type="submit" name="as" value={as}>
          {label}
        </button>
      ))}
    </Form>
  );
}

function Meanings() {
  return (
    <details>
      <summary>What the answers mean</summary>
      <dl class="facts">
        {MEANINGS.map(({ label, text }) => (
          <>
            <dt>{label}</dt>
            <dd>{text}</dd>
          </>
        ))}
      </dl>
      <p>While an action is in doubt, nothing else is sent to its target.</p>
    </details>
  );
}

// One action: what, on whom, for which rules, how it went, and every entry of the audit about it.

const ENTRIES_READ = 500;
const ENTRIES_MAX = 50;

function intentPage(deps: HttpDeps): Route {
  return readPage(deps, '/intents/:id', async (context) => {
    const id = param(context, 'id');
    const [intent] = await deps.reader.intents({ ids: [id] });
    if (!intent) throw new AppError('not_found', `there is no intent \`${id}\``);
    const needsPerson = await canResolve(deps, intent);
    return {
      title: `Action ${intent.action} on ${intent.target}`,
      section: '/in-doubt',
      live: 'intent run',
      body: (
        <>
          <h1>
            {intent.undo ? 'Undo by' : 'Action'} <Term>{intent.action}</Term> on <Code>{intent.target}</Code>
          </h1>
          <Live id="how" on="intent run" path={`/intents/${encodeURIComponent(id)}`}>
            {await described(deps, intent, needsPerson)}
          </Live>
          {needsPerson && mayDo(context, 'approve') ? (
            <section class="card">
              <h2>Resolve</h2>
              <ResolveForm intent={intent} />
              <Meanings />
            </section>
          ) : null}
          {await audited(deps, intent)}
        </>
      ),
    };
  });
}

async function described(deps: HttpDeps, intent: Intent, needsPerson: boolean) {
  const { reader } = deps;
  const { id, outcome, released, note, planId } = intent;
  const run = await reader.run(intent.runId);
  const next = nextText(intent);
  return (
    <section class="card">
      <p class="lead">
        <OutcomeMark intent={intent} /> {note === undefined ? null : <Words>{note}</Words>}
      </p>
      {next === undefined || (outcome === 'failed' && !needsPerson) ? null : <p>Next: {next}.</p>}
      <dl class="facts">
        <dt>about</dt>
        <dd>
          <Target {...intent} />
        </dd>
        <dt>rules</dt>
        <dd>
          {[...new Set(intent.basis.map(({ rule }) => rule))].map((rule, at) => (
            <>
              {at > 0 ? ', ' : ''}
              <Link href={`/rules/${encodeURIComponent(rule)}`}>
                <Words>{rule}</Words>
              </Link>
            </>
          ))}
        </dd>
        <dt>asked for by</dt>
        <dd>
          {released ? 'a person, who released it; ' : ''}
          {run ? <Link href={`/runs/${run.seq}`}>run {run.seq}</Link> : 'a run that was removed'}
          {planId === undefined ? null : (
            <>
              , in <Link href={`/plans/${encodeURIComponent(planId)}`}>plan {planId}</Link>
            </>
          )}
          {intent.approved ? ', approved by a person' : ''}
        </dd>
        <dt>made, sent, settled</dt>
        <dd>
          <When at={intent.createdAt} />
          {intent.sentAt === undefined ? ', not sent' : [', ', <When at={intent.sentAt} />]}
          {intent.settledAt === undefined ? '' : [', ', <When at={intent.settledAt} />]}
        </dd>
        <dt>attempts</dt>
        <dd>
          {plural(intent.attempts, 'attempt')}
          {timesRefused(intent) > 0
            ? `, and refused ${plural(timesRefused(intent), 'time')} before anything was done`
            : ''}
        </dd>
        <dt>facts</dt>
        <dd>
          <Lines texts={intent.basis.flatMap(({ facts }) => factTexts(facts, intent.createdAt))} />
        </dd>
        <dt>intent</dt>
        <dd>
          <Code>{id}</Code>
        </dd>
      </dl>
    </section>
  );
}

async function audited(deps: HttpDeps, intent: Intent) {
  const { target } = intent;
  const entries = await entriesAbout(deps, intent);
  return (
    <section class="card">
      <h2>What the audit has of it</h2>
      <Table
        caption="Entries of the audit about this action, newest first"
        columns={AUDIT_COLUMNS}
        rows={entries.map(auditRow)}
        empty="None: they may have been archived."
      />
      <p>
        <AuditLink target={target}>
          All entries about <Words>{target}</Words>
        </AuditLink>
      </p>
    </section>
  );
}

async function canResolve({ reader }: HttpDeps, intent: Intent): Promise<boolean> {
  if (intent.outcome !== 'failed') return intent.outcome === 'unknown' || intent.outcome === 'parked';
  return (await reader.openFailures()).some(({ id }) => id === intent.id);
}

/** Of the newest entries about its target. */
async function entriesAbout({ reader }: HttpDeps, { id, target }: Intent): Promise<AuditEntry[]> {
  const entries = await reader.audit({ target, limit: ENTRIES_READ });
  return entries.filter((entry) => ownText(auditView(entry).body, 'intent') === id).slice(0, ENTRIES_MAX);
}

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
      const form = await readForm(context, DOUBTS.resolveIntent.body);
      const intent = await operationsOf(deps, context).resolveIntent({ id: param(context, 'id'), ...form });
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
