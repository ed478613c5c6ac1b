// web: one action: what, on whom, for which rules, how it went, and every entry of the audit about it. In: its id. Out: a page, with a form
// to resolve it while it needs a person.

import type { AuditEntry } from '../../../domain/audit-entry.ts';
import { AppError } from '../../../domain/errors.ts';
import { ownText } from '../../../domain/facts.ts';
import { type Intent, timesRefused } from '../../../domain/intent.ts';
import { nextText } from '../../../domain/intent-next.ts';
import type { HttpDeps } from '../../../http/deps.ts';
import { param, type Route } from '../../../http/route.ts';
import { auditView } from '../../../report/audit-view.ts';
import { factTexts, plural } from '../../../report/fact-text.ts';
import { Link } from '../../../report/html/link.tsx';
import { Table } from '../../../report/html/table.tsx';
import { Code, Term, When, Words } from '../../../report/html/text.tsx';
import { mayDo, readPage } from '../../answer.tsx';
import { AuditLink } from '../../parts/audit-link.tsx';
import { AUDIT_COLUMNS, auditRow } from '../../parts/audit-row.tsx';
import { Live } from '../../parts/live.tsx';
import { OutcomeMark } from '../../parts/outcome-mark.tsx';
import { Target } from '../../parts/target.tsx';
import { Meanings, ResolveForm } from './resolve.tsx';

const ENTRIES_READ = 500;
const ENTRIES_MAX = 50;

export function intentPage(deps: HttpDeps): Route {
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
          {intent.basis.flatMap(({ facts }) =>
            factTexts(facts, intent.createdAt).map((text) => (
              <div>
                <Words>{text}</Words>
              </div>
            )),
          )}
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
