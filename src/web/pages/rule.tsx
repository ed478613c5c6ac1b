// web: one rule: its settings, who it matches now, its matches over time, what its own tests show, and its text. In: the rule as loaded, the
// last runs. Out: a page; another with all decisions that it led to. A rule that is not loaded any more still has those.

import { z } from 'zod';
import type { Rule } from '../../domain/rule.ts';
import type { RunRecord } from '../../domain/store.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { nameField, readQuery } from '../../http/input.ts';
import { type Ctx, param, type Route } from '../../http/route.ts';
import { evidenceLine } from '../../report/evidence-words.ts';
import { countText } from '../../report/fact-text.ts';
import { Link } from '../../report/html/link.tsx';
import { Mark } from '../../report/html/marks.tsx';
import { Table } from '../../report/html/table.tsx';
import { Code, Term, When, Words } from '../../report/html/text.tsx';
import { ruleModeWords, ruleSettings, settingsOfAction } from '../../report/rule-words.ts';
import { addressOf } from '../address.ts';
import { mayDo, readPage } from '../answer.tsx';
import type { PageContent } from '../layout.tsx';
import { Pager } from '../parts/pager.tsx';
import { replayPath } from './replay.tsx';
import { DECISION_COLUMNS, decisionRow } from './rule/decision-rows.tsx';
import { RuleMode } from './rule/mode.tsx';
import { OverTime } from './rule/over-time.tsx';
import { Source } from './rule/source.tsx';
import { lastTallies, type RunTally } from './rule/tallies.ts';
import { RuleTests } from './rule/tests.tsx';
import { rulePath } from './rules.tsx';

const PAGE = 50;

export function rulePages(deps: HttpDeps): Route[] {
  return [
    readPage(deps, '/rules/:id', (context) => rulePage(deps, context)),
    readPage(deps, '/rules/:id/decisions', (context) => decisionsPage(deps, context)),
  ];
}

async function rulePage(deps: HttpDeps, context: Ctx): Promise<PageContent> {
  const id = param(context, 'id');
  const { after } = readQuery(context, z.strictObject({ after: nameField.optional() }));
  if (!deps.rules().some((rule) => rule.id === id) && (await decidedBefore(deps, id))) return notLoaded(id);
  const { rule, text, report } = await deps.ruleDetail(id);
  const tallies = (await lastTallies(deps)).get(id) ?? [];
  return {
    title: rule.title,
    section: '/rules',
    chart: tallies.length > 1,
    body: (
      <>
        <h1>
          <Words>{rule.title}</Words>
        </h1>
        <p>
          <Code>{id}</Code> <Mark word={rule.severity} />
        </p>
        <div class="cards">
          <Settings deps={deps} rule={rule} />
          {await now(deps, rule, tallies[0])}
        </div>
        <OverTime tallies={tallies} />
        <p>
          <Link href={replayPath(id)}>What it would have done over the recorded time</Link>
        </p>
        {await matching(deps, id, tallies[0], after)}
        <RuleTests report={report} />
        <section class="card">
          <h2>
            Its file <Code>{rule.file}</Code>
          </h2>
          {mayDo(context, 'trigger') ? (
            <p>
              <Link class="button" href={`${rulePath(id)}/try`}>
                Try a change of this rule
              </Link>
            </p>
          ) : null}
          <Source text={text} label={`The text of rule ${id}`} />
        </section>
      </>
    ),
  };
}

async function decidedBefore({ reader }: HttpDeps, rule: string): Promise<boolean> {
  return (await reader.decisions({ rule, limit: 1 })).length > 0;
}

function notLoaded(id: string): PageContent {
  return {
    title: id,
    section: '/rules',
    body: (
      <>
        <h1>
          <Words>{id}</Words>
        </h1>
        <section class="card">
          <p>This rule is not loaded: its file was removed, or has another id now. What it did stays as it is.</p>
          <p>
            <Link href={addressOf('/in-force', { rule: id })}>What it has in force</Link>
          </p>
          <p>
            <Link href={`${rulePath(id)}/decisions`}>The decisions that it led to</Link>
          </p>
        </section>
      </>
    ),
  };
}

function Settings({ deps, rule }: { deps: HttpDeps; rule: Rule }) {
  const daemonMode = deps.daemonMode();
  const evidence = evidenceLine(rule, deps.evidence);
  return (
    <section class="card">
      <h2>Settings</h2>
      <dl class="facts">
        <dt>mode</dt>
        <dd>
          <RuleMode rule={rule} daemonMode={daemonMode} /> {ruleModeWords(rule, daemonMode)}
          {evidence === undefined ? null : <div class="quiet">{evidence}</div>}
        </dd>
        <dt>judges</dt>
        <dd>
          each {rule.subject}; it reads {rule.sources.join(', ')}
        </dd>
        <dt>does</dt>
        <dd>
          {rule.then.map((one) => (
            <div>
              <Term>{one.action}</Term> <Words>{settingsOfAction(one)}</Words>
            </div>
          ))}
        </dd>
        {ruleSettings(rule).map(({ name, text }) => (
          <>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </>
        ))}
      </dl>
    </section>
  );
}

async function now({ reader }: HttpDeps, { id }: Rule, last: RunTally | undefined) {
  const claims = (await reader.claimCounts()).filter(({ rule }) => rule === id);
  return (
    <section class="card">
      <h2>Now</h2>
      {last === undefined ? (
        <p class="empty">No run has judged it yet.</p>
      ) : (
        <>
          <span class="figure">{countText(last.match)}</span>
          <p>
            {last.match === 1 ? 'matches' : 'match'} as of <Link href={`/runs/${last.seq}`}>run {last.seq}</Link>,{' '}
            <When at={last.at} />. {countText(last.no_match)} {last.no_match === 1 ? 'does' : 'do'} not;{' '}
            {countText(last.unknown)} unknown
            {last.error > 0 ? `, ${countText(last.error)} failed` : ''}.
          </p>
        </>
      )}
      <h3>In force</h3>
      {claims.length === 0 ? <p class="empty">It has nothing in force.</p> : null}
      <ul class="list">
        {claims.map(({ action, status, count }) => (
          <li>
            <Link href={addressOf('/in-force', { rule: id, action, status })}>
              {countText(count)} × {action}
            </Link>{' '}
            <Mark word={status} tone={status === 'orphaned' ? 'wait' : 'good'} />
          </li>
        ))}
      </ul>
      <p>
        <Link href={`${rulePath(id)}/decisions`}>All decisions that it led to</Link>
      </p>
    </section>
  );
}

async function matching({ reader }: HttpDeps, id: string, last: RunTally | undefined, after: string | undefined) {
  const run: RunRecord | undefined = last && (await reader.run(String(last.seq)));
  if (!run) return null;
  const query = { limit: PAGE + 1, ...(after !== undefined && { after }) };
  const { rows, total } = await reader.decisionsOfRule(run, id, query);
  const shown = rows.slice(0, PAGE);
  const next = rows.length > PAGE ? addressOf(rulePath(id), { after: shown.at(-1)?.id }) : undefined;
  return (
    <section class="card" id="now">
      <h2>Decisions in force: {countText(total)}</h2>
      <p>
        As of <Link href={`/runs/${run.seq}`}>the report of run {run.seq}</Link>.
      </p>
      <Table
        caption={`Decisions of rule ${id} in force`}
        columns={DECISION_COLUMNS}
        rows={shown.map(decisionRow)}
        empty={after === undefined ? 'It matches nobody.' : 'There are no more.'}
      />
      <Pager next={next && `${next}#now`} text={`The next ${PAGE}`} />
    </section>
  );
}

async function decisionsPage({ reader, rules }: HttpDeps, context: Ctx): Promise<PageContent> {
  const id = param(context, 'id');
  const { before } = readQuery(context, z.strictObject({ before: nameField.optional() }));
  const found = await reader.decisions({ rule: id, limit: PAGE + 1, ...(before !== undefined && { before }) });
  const shown = found.slice(0, PAGE);
  const next = found.length > PAGE ? addressOf(`${rulePath(id)}/decisions`, { before: shown.at(-1)?.id }) : undefined;
  const title = rules().find((rule) => rule.id === id)?.title;
  return {
    title: `Decisions of ${id}`,
    section: '/rules',
    body: (
      <>
        <h1>
          Decisions of <Words>{id}</Words>
        </h1>
        <p>
          <Link href={rulePath(id)}>
            <Words>{title ?? `Rule ${id}`}</Words>
          </Link>
          . The newest first, also those that are not in force any more.
        </p>
        <section class="card">
          <Table
            caption={`Decisions of rule ${id}`}
            columns={DECISION_COLUMNS}
            rows={shown.map(decisionRow)}
            empty={before === undefined ? 'It has led to no decision.' : 'There are no more.'}
          />
          <Pager next={next} />
        </section>
      </>
    ),
  };
}
