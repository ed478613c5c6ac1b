// web: the inbox: what waits for a person, each with since when, why, and the next step; and the page of one action. In: the store. Out: pages
// with a form to resolve an action, and links to the plans.

import { z } from 'zod';
import { nameField } from '../../../contract/operation.ts';
import { DOUBTS } from '../../../contract/operator.ts';
import { type AuditEntry, entryBody } from '../../../domain/audit-entry.ts';
import { AppError } from '../../../domain/errors.ts';
import { ownText } from '../../../domain/facts.ts';
import { type Intent, nextText, timesRefused } from '../../../domain/intent.ts';
import { INBOX_STATES, type InboxState } from '../../../domain/operator.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { operationsOf, param, type Route, readForm, readSearch } from '../../http/route.ts';
import { asSentence, countText, factTexts, plural } from '../../report/fact-text.ts';
import { Form, Link } from '../../report/html/link.tsx';
import { Code, Lines, Name, Table, Term, When, Words } from '../../report/html/text.tsx';
import { INBOX_WORDS, type InboxItem, inboxTitle, inboxWhy, nextStep, readInbox, sinceMs } from '../../report/inbox.ts';
import { auditViews } from '../../report/lists-text.ts';
import { inboxSentence } from '../../report/state-now.ts';
import { addressOf } from '../address.ts';
import { formPage, mayDo, readPage } from '../answer.tsx';
import { AUDIT_COLUMNS, AuditLink, auditRow, Devices, Live, OutcomeMark, Pager, Target } from '../parts/act.tsx';
import { REQUESTS_PATH } from './exemption-requests.tsx';

// Resolving a doubt or a failure: what each answer means, and the form.

const MEANINGS = [
  {
    as: 'done',
    label: 'It was done',
    text: 'It counts as done by Trustward: it is undone when its rule no longer matches.',
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
        <span class="unseen">Reason to settle this action</span>
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
    if (!intent) throw new AppError('not_found', `there is no action \`${id}\``);
    const needsPerson = await canResolve(deps, intent);
    return {
      title: `Action ${intent.action} on ${intent.target}`,
      section: '/inbox',
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
        <dt>id</dt>
        <dd>
          <Code>{id}</Code>
        </dd>
      </dl>
    </section>
  );
}

async function audited(deps: HttpDeps, intent: Intent) {
  const { target } = intent;
  const nowMs = deps.clock.nowMs();
  const entries = await auditViews(deps.reader, await entriesAbout(deps, intent));
  return (
    <section class="card">
      <h2>What the audit has of it</h2>
      <Table
        caption="Entries of the audit about this action, newest first"
        columns={AUDIT_COLUMNS}
        rows={entries.map((entry) => auditRow(entry, nowMs))}
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
  return entries.filter((entry) => ownText(entryBody(entry), 'intent') === id).slice(0, ENTRIES_MAX);
}

const PAGE = 50;
/** Of each state, where all are shown. */
const FIRST = 15;
const PATH = '/inbox';
const LIVE = 'plan intent run exemption';

const query = z.strictObject({ state: z.enum(INBOX_STATES).optional(), before: nameField.optional() });
type Asked = z.infer<typeof query>;

export function inboxPages(deps: HttpDeps): Route[] {
  return [
    readPage(deps, PATH, async (context) => {
      const asked = readSearch(context, query);
      return {
        title: 'Inbox',
        section: PATH,
        live: LIVE,
        body: (
          <>
            <h1>Inbox</h1>
            <Live id="inbox" on={LIVE} path={addressOf(PATH, asked)}>
              {await sections(deps, asked)}
            </Live>
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

async function sections(deps: HttpDeps, { state, before }: Asked) {
  const counts = await deps.reader.inboxCounts();
  const shown = INBOX_STATES.filter((one) => (state === undefined ? counts[one] > 0 : one === state));
  if (shown.length === 0)
    return (
      <div class="card">
        <p class="lead">{inboxSentence(counts)}</p>
        <p class="quiet">
          Plans that need a yes come here, exemptions that people ask for, and actions that failed or are in doubt. What
          was answered before is in <Link href="/plans">Plans</Link>.
        </p>
      </div>
    );
  const limit = state === undefined ? FIRST : PAGE;
  const cards = await Promise.all(
    shown.map(async (one) => {
      const { items, total, next } = await readInbox(deps.reader, { state: one, limit, before });
      return (
        <section class="card">
          <h2>
            {INBOX_WORDS[one].title}: {countText(total)}
          </h2>
          <p>{INBOX_WORDS[one].lead}</p>
          <Table
            caption={INBOX_WORDS[one].title}
            columns={['What', 'Since', 'Why', 'Next', 'Answer']}
            rows={items.map((item) => ({ id: item.id, cells: cellsOf(item) }))}
            empty="None."
          />
          <Pager next={next === null ? undefined : addressOf(PATH, { state: one, before: next })} text="More" />
        </section>
      );
    }),
  );
  return (
    <>
      <p class="lead">
        <Words>{inboxSentence(counts)}</Words>
        {state === undefined ? null : <Link href={PATH}> Show all</Link>}
      </p>
      {cards}
    </>
  );
}

const BUTTONS: Readonly<Record<InboxState, string>> = {
  pending: 'Read and answer',
  interrupted: 'Read and apply',
  approved: 'Read and apply',
  asked: 'Read and answer',
  parked: 'Look and decide',
  in_doubt: 'Look',
  failed: 'Look',
  refused: 'Look',
};

function cellsOf(item: InboxItem) {
  const folder = 'plan' in item ? '/plans' : 'request' in item ? REQUESTS_PATH : '/intents';
  const path = `${folder}/${encodeURIComponent(item.id)}`;
  return [
    <>
      <span class="who">
        <Link href={path}>
          <Name>{inboxTitle(item)}</Name>
        </Link>
      </span>
      {'intent' in item ? <Devices {...item.intent} /> : null}
    </>,
    <When at={sinceMs(item)} />,
    <Words>{inboxWhy(item)}</Words>,
    <Words>{`${asSentence(nextStep(item))}.`}</Words>,
    <Link class="button" href={path}>
      {BUTTONS[item.state]}
    </Link>,
  ];
}
