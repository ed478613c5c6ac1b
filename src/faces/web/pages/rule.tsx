// web: one rule: its settings, who it matches now, its matches over time, what its own tests show, and its text. In: the rule as loaded, the
// last runs. Out: a page; another with all decisions that it led to. A rule that is not loaded any more still has those.
import { z } from 'zod';
import { spanText } from '../../../base/time.ts';
import { nameField } from '../../../contract/operation.ts';
import { ROLLOUTS } from '../../../contract/operator.ts';
import { replaySchema } from '../../../contract/replay.ts';
import type { EvidenceReader } from '../../../domain/evidence.ts';
import type { ReplayBeside } from '../../../domain/replay.ts';
import { type RolloutState, stateOfRollout } from '../../../domain/rollout.ts';
import type { Rule } from '../../../domain/rule.ts';
import type { RunRecord } from '../../../domain/store.ts';
import { type RuleTestReport, unseenOf } from '../../../domain/verdict.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { type Ctx, operationsOf, param, type Route, readForm, readQuery } from '../../http/route.ts';
import {
  evidenceView,
  limitWords,
  ruleModeWords,
  ruleSettings,
  settingsOfAction,
} from '../../report/evidence-words.ts';
import { countText, plural } from '../../report/fact-text.ts';
import { ShareBar } from '../../report/html/document.tsx';
import { Form, Link } from '../../report/html/link.tsx';
import { ReplayParts } from '../../report/html/picture.tsx';
import { By, Code, Lines, Mark, Table, Term, When, Words } from '../../report/html/text.tsx';
import { rolloutView } from '../../report/rule-view.ts';
import { claimWords } from '../../report/words.ts';
import { addressOf } from '../address.ts';
import { answerPage, formPage, mayDo, readPage } from '../answer.tsx';
import type { PageContent } from '../layout.tsx';
import { Act, Pager } from '../parts/act.tsx';
import { Ago } from '../parts/figures.tsx';
import { chartOver, type RunTally, rangeField, talliesOver } from '../parts/over-time.tsx';
import { pathOf as planPath } from './plan-target.tsx';
import { DECISION_COLUMNS, decisionRow, RuleMode, rulePath, Source } from './rules.tsx';

// Replays: a form that asks for one, and what the last one found.

/** Rows of each table: more make a page that is slow to read. */
const ROWS_MAX = 100;
const AGAIN_SECONDS = 3;

const replayForm = z.strictObject({
  way: z.enum(['what_if', 'as_was']).default('what_if'),
  since: z.string().max(40).default('30d'),
  rule: nameField.optional(),
});

/** Where a rule's page leads to. */
function replayPath(rule: string): string {
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
        <span>What is replayed</span>
        <select name="way">
          <option value="what_if">what if: the present rules, enforced</option>
          <option value="as_was">as it was: the rules of that time</option>
        </select>
      </label>
      <button type="submit" class="main" disabled={isUnderWay}>
        Replay
      </button>
      {isUnderWay ? <p class="quiet">Only one replay runs at a time. Wait until this one ends.</p> : null}
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
        Asked for by <By>{by}</By>, <When at={startedAt} />.{' '}
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

// What the tests inside a rule show: their results, which conditions no test decides, which changes of the rule no test
// notices.

function RuleTests({ report }: { report: RuleTestReport }) {
  const { tests, problems, coverage, coveredPercent, mutants } = report;
  const gaps = coverage.map((atom) => ({ text: atom.text, unseen: unseenOf(atom) })).filter((one) => one.unseen.length);
  // They have a section of their own.
  const others = problems.filter((problem) => !mutants?.survivors.some((survivor) => problem.endsWith(survivor)));
  const failed = tests.filter(({ ok }) => !ok).length;
  return (
    <section class="card">
      <h2>Its own tests</h2>
      <p>
        {plural(tests.length - failed, 'test')} passed, {failed} failed. They see {coveredPercent} % of the values that
        its conditions can have.
      </p>
      {others.length === 0 ? null : (
        <div class="notice wait">
          <ul>
            <Lines texts={others} as="li" />
          </ul>
        </div>
      )}
      <details open={failed > 0}>
        <summary>All {plural(tests.length, 'test')}</summary>
        <Table
          caption="The tests of the rule"
          columns={['Test', 'Result', 'Expected', 'Got', 'Line']}
          rows={tests.map(({ name, ok, expected, got, message, line }) => ({
            cells: [
              <>
                <Words>{name}</Words>
                {message === undefined ? null : (
                  <div class="quiet">
                    <Words>{message}</Words>
                  </div>
                )}
              </>,
              <Mark word={ok ? 'passed' : 'failed'} tone={ok ? 'good' : 'bad'} />,
              expected,
              got,
              <Link href={`#L${line}`}>line {line}</Link>,
            ],
          }))}
          empty="The rule has no tests."
        />
      </details>
      <h3>Conditions that no test decides</h3>
      <Table
        caption="Conditions that tests did not see with each value"
        columns={['Condition', 'Never seen']}
        rows={gaps.map(({ text, unseen }) => ({ cells: [<Code>{text}</Code>, `${unseen.join(' or ')}`] }))}
        empty="None: tests saw each condition with each value that it can have."
      />
      {mutants === undefined ? null : (
        <>
          <h3>Changes of the rule that no test notices</h3>
          <p>
            {plural(mutants.tried, 'small change')} of the condition {mutants.tried === 1 ? 'was' : 'were'} tried
            {mutants.survivors.length === 0 ? ', and tests noticed each.' : ':'}
          </p>
          {mutants.survivors.length === 0 ? null : (
            <ul>
              {mutants.survivors.map((survivor) => (
                <li>
                  <Code>{survivor}</Code>
                </li>
              ))}
            </ul>
          )}
        </>
      )}
    </section>
  );
}

const PAGE = 50;

export function rulePages(deps: HttpDeps): Route[] {
  return [
    readPage(deps, '/rules/:id', (context) => rulePage(deps, context)),
    readPage(deps, '/rules/:id/decisions', (context) => decisionsPage(deps, context)),
    formPage(deps, '/rules/:id/rollout/resume', 'approve', async (context) => {
      const id = param(context, 'id');
      const form = await readForm(context, ROLLOUTS.resumeRollout.body);
      await operationsOf(deps, context).resumeRollout({ id, ...form });
      return rulePath(id);
    }),
    formPage(deps, '/rules/:id/rollout/restart', 'approve', async (context) => {
      const id = param(context, 'id');
      const form = await readForm(context, ROLLOUTS.restartRollout.body);
      await operationsOf(deps, context).restartRollout({ id, ...form });
      return rulePath(id);
    }),
  ];
}

async function rulePage(deps: HttpDeps, context: Ctx): Promise<PageContent> {
  const id = param(context, 'id');
  const { after, range } = readQuery(context, z.strictObject({ after: nameField.optional(), range: rangeField }));
  if (!deps.rules().some((rule) => rule.id === id) && (await decidedBefore(deps, id))) return notLoaded(id);
  const { rule, text, report } = await deps.ruleDetail(id);
  const tallies = await talliesOver(deps, range);
  const { nowMs } = tallies;
  const [last] = tallies.byRule.get(id) ?? [];
  const run = last && (await deps.reader.run(String(last.seq)));
  const daemonMode = deps.daemonMode();
  return {
    title: rule.title,
    section: '/rules',
    body: (
      <>
        <h1>
          <Words>{rule.title}</Words>
        </h1>
        <p>
          <Code>{id}</Code> <Mark word={rule.severity} /> <RuleMode rule={rule} daemonMode={daemonMode} />{' '}
          {ruleModeWords(rule, daemonMode)}.
        </p>
        <div class="cards">
          {await now(deps, rule, last, nowMs)}
          <Limits rule={rule} run={run} nowMs={nowMs} />
          <Evidence rule={rule} reader={deps.evidence} nowMs={nowMs} />
          {rule.rollout ? (
            <Rollout
              rule={rule}
              states={await deps.reader.rollouts()}
              mayAct={mayDo(context, 'approve')}
              undo={await undoOf(deps, id)}
            />
          ) : null}
        </div>
        {await chartOver(deps, { path: rulePath(id), tallies, rule: id })}
        <p>
          <Link href={replayPath(id)}>What it would have done over the recorded time</Link>
        </p>
        {await matching(deps, id, run, after, nowMs)}
        <RuleTests report={report} />
        <section class="card">
          <h2>Details</h2>
          {mayDo(context, 'trigger') ? (
            <p>
              <Link class="button" href={`${rulePath(id)}/try`}>
                Try a change of this rule
              </Link>
            </p>
          ) : null}
          <details>
            <summary>Its settings</summary>
            <Settings rule={rule} />
          </details>
          <details>
            <summary>
              Its file <Code>{rule.file}</Code>
            </summary>
            <Source text={text} label={`The text of rule ${id}`} />
          </details>
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

function Settings({ rule }: { rule: Rule }) {
  return (
    <dl class="facts">
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
  );
}

// How many at once it may take, and what has shown that it is safe: as bars.

interface ShareProps {
  name: string;
  used: number;
  allowed: number;
  isGoal?: boolean;
  text: string;
}

function Share({ name, text, ...bar }: ShareProps) {
  return (
    <>
      <h3>{name}</h3>
      <ShareBar {...bar} />
      <p>{text}</p>
    </>
  );
}

/** As the last whole run compared them. */
function Limits({ rule, run, nowMs }: { rule: Rule; run: RunRecord | undefined; nowMs: number }) {
  const tally = run?.findings?.tallies.find((one) => one.rule === rule.id);
  const limits = tally?.limits;
  const subjects = tally ? tally.match + tally.no_match + tally.unknown + tally.error : 0;
  return (
    <section class="card">
      <h2>Limits</h2>
      {limits === undefined || run === undefined ? (
        <p>{limitWords(rule)}.</p>
      ) : (
        <>
          <Share
            name="In a run"
            used={limits.targets}
            allowed={limits.allowed}
            text={`${countText(limits.targets)} of at most ${plural(limits.allowed, 'target')}`}
          />
          {limits.inDay ? (
            <Share
              name="In 24 hours"
              used={limits.inDay.subjects}
              allowed={limits.inDay.allowed}
              text={inDayText(rule, limits.inDay, subjects)}
            />
          ) : null}
          <p class="quiet">
            As of <Link href={`/runs/${run.seq}`}>run {run.seq}</Link>, <Ago at={run.startedAt} nowMs={nowMs} />. More
            holds the whole rule.
          </p>
        </>
      )}
    </section>
  );
}

/** Its subjects alone: a target may have several. More than there are is no limit that anybody reaches. */
function inDayText({ subject }: Rule, inDay: { subjects: number; allowed: number }, subjects: number): string {
  const allowed = countText(inDay.allowed);
  return inDay.allowed < subjects || inDay.subjects > inDay.allowed
    ? `${countText(inDay.subjects)} of at most ${plural(inDay.allowed, subject)}`
    : `${plural(inDay.subjects, subject)}; all ${countText(subjects)} are allowed (the limit is ${allowed})`;
}

interface EvidenceProps {
  rule: Rule;
  reader: EvidenceReader | undefined;
  nowMs: number;
}

/** Days, tests and changes that tests notice: what there is of what the next mode asks for. */
function Evidence({ rule, reader, nowMs }: EvidenceProps) {
  if (!reader?.isKept()) return null;
  const evidence = evidenceView(rule, reader);
  if (evidence === null)
    return (
      <section class="card">
        <h2>Evidence</h2>
        <p class="empty">There is none yet.</p>
      </section>
    );
  const { madeAt, tests, replayed, earned, missing } = evidence;
  const mode = earned === 'dry-run' && rule.mode !== 'enforce' ? 'approve' : 'enforce';
  const needed = reader.thresholds.daysMin[mode];
  const days = replayed?.days ?? 0;
  const lacks = missing[mode];
  return (
    <section class="card">
      <h2>Evidence</h2>
      <p>
        {lacks.length === 0 ? (
          <>
            Mode <Mark word={mode} /> is earned.
          </>
        ) : (
          <>
            For mode <Mark word={mode} /> it needs <Words>{lacks.join('; ')}</Words>.
          </>
        )}
      </p>
      <Share
        name="Days of history"
        used={days}
        allowed={needed}
        isGoal
        text={`${plural(days, 'day')}, ${needed} needed`}
      />
      {replayed === null ? null : (
        <p class="quiet">
          Since <When at={replayed.from} />: {plural(replayed.matches, 'match', 'matches')}, at most{' '}
          {countText(replayed.mostInRun)} done in a run, {countText(replayed.flaps)} undone within the hour,{' '}
          {countText(replayed.unknown)} unknown.
        </p>
      )}
      <Share
        name="Tests"
        used={tests.coveredPercent}
        allowed={100}
        isGoal
        text={`${tests.coveredPercent} % of its conditions, ${countText(tests.mutants - tests.survived)} of ${plural(tests.mutants, 'small change')} noticed`}
      />
      <p class="quiet">
        Made <Ago at={madeAt} nowMs={nowMs} />.
      </p>
    </section>
  );
}

interface RolloutProps {
  rule: Rule;
  states: readonly RolloutState[];
  mayAct: boolean;
  /** The plan that undoes what it did, if it waits. */
  undo: string | undefined;
}

async function undoOf({ reader }: HttpDeps, rule: string): Promise<string | undefined> {
  const waiting = await reader.planLines({ status: 'pending' }, { limit: 100 });
  return waiting.find(({ releases }) => releases === rule)?.id;
}

/** How far it is, what counts for its brake, and the ways on. */
function Rollout({ rule, states, mayAct, undo }: RolloutProps) {
  const { percent, text, reversed, exempted, stopped } = rolloutView(rule, stateOfRollout(rule, states));
  const { brake } = rule.rollout as NonNullable<Rule['rollout']>;
  const path = `${rulePath(rule.id)}/rollout`;
  return (
    <section class="card">
      <h2>Rollout</h2>
      {stopped === null ? null : (
        <div class="notice wait" role="status">
          It acts no more, since {stopped.why} (<When at={stopped.at} />
          ).{' '}
          {undo === undefined ? (
            <>
              If it had anything in force, a plan to undo that was made: see <Link href="/plans">Plans</Link>.
            </>
          ) : (
            <>
              <Link href={planPath({ id: undo })}>The plan to undo what it has in force</Link> waits for a yes.
            </>
          )}
        </div>
      )}
      <Share name="Its share" used={percent} allowed={100} isGoal text={text} />
      <p>
        Since it began, people reversed {countText(reversed)} of what it did (it stops at {countText(brake.reversed)})
        and exempted {countText(exempted)} of those it acted on ({countText(brake.exempted)}).
      </p>
      {mayAct && stopped !== null ? (
        <Act to={`${path}/resume`} label="Go on" of={ROLLOUTS.resumeRollout} reason="required" tone="main" />
      ) : null}
      {mayAct ? (
        <Act to={`${path}/restart`} label="Begin anew" of={ROLLOUTS.restartRollout} reason="required" isFolded />
      ) : null}
    </section>
  );
}

async function now({ reader }: HttpDeps, { id, then }: Rule, last: RunTally | undefined, nowMs: number) {
  const claims = (await reader.claimCounts()).filter(({ rule }) => rule === id);
  return (
    <section class="card">
      <h2>Matches</h2>
      <p>
        It does:{' '}
        {then.map(({ action }, at) => (
          <>
            {at > 0 ? ', ' : ''}
            <Term>{action}</Term>
          </>
        ))}
        .
      </p>
      {last === undefined ? (
        <p class="empty">No run has judged it yet.</p>
      ) : (
        <>
          <span class="figure">{countText(last.match)}</span>
          <p>
            {last.match === 1 ? 'matches' : 'match'} as of <Link href={`/runs/${last.seq}`}>run {last.seq}</Link>,{' '}
            <Ago at={last.at} nowMs={nowMs} />. {countText(last.no_match)} {last.no_match === 1 ? 'does' : 'do'} not;{' '}
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
            <Mark word={status} text={claimWords(status)} tone={status === 'orphaned' ? 'wait' : 'calm'} />
          </li>
        ))}
      </ul>
      <p>
        <Link href={`${rulePath(id)}/decisions`}>All decisions that it led to</Link>
      </p>
    </section>
  );
}

async function matching(
  { reader }: HttpDeps,
  id: string,
  run: RunRecord | undefined,
  after: string | undefined,
  nowMs: number,
) {
  if (!run) return null;
  const query = { limit: PAGE + 1, ...(after !== undefined && { after }) };
  const { rows, total } = await reader.decisionsOfRule(run, id, query);
  const shown = rows.slice(0, PAGE);
  const next = rows.length > PAGE ? addressOf(rulePath(id), { after: shown.at(-1)?.id }) : undefined;
  return (
    <section class="card" id="now">
      <h2>
        {plural(total, 'decision')} as of <Link href={`/runs/${run.seq}`}>run {run.seq}</Link>
      </h2>
      <Table
        caption={`Decisions of rule ${id} as of run ${run.seq}`}
        columns={DECISION_COLUMNS}
        rows={shown.map((one) => decisionRow(one, nowMs))}
        empty={after === undefined ? 'It matches nobody.' : 'There are no more.'}
      />
      <Pager next={next && `${next}#now`} text={`The next ${PAGE}`} />
    </section>
  );
}

async function decisionsPage({ reader, rules, clock }: HttpDeps, context: Ctx): Promise<PageContent> {
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
            rows={shown.map((one) => decisionRow(one, clock.nowMs()))}
            empty={before === undefined ? 'It has led to no decision.' : 'There are no more.'}
          />
          <Pager next={next} />
        </section>
      </>
    ),
  };
}
