// web: the loaded rules: what each does, how far it may go, how many it matches, what it has in force, whether its own tests pass. In: the
// rules, the last runs. Out: a page; a refused folder is shown with each of its problems.

import type { Child } from 'hono/jsx';
import { z } from 'zod';
import type { ReportEvidence } from '../../../contract/report.ts';
import type { DecisionNow } from '../../../domain/decision.ts';
import { guardLines, guardsOf } from '../../../domain/guards.ts';
import { type RolloutState, stateOfRollout, stepOfText } from '../../../domain/rollout.ts';
import { leastMode, type Mode, type Rule } from '../../../domain/rule.ts';
import type { RuleTestReport } from '../../../domain/verdict.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { type Route, readQuery } from '../../http/route.ts';
import { decisionView } from '../../report/decision-view.ts';
import { actKindOf, decisionWords, wasAnswered } from '../../report/decision-words.ts';
import { subjectPath } from '../../report/document.ts';
import { evidenceView } from '../../report/evidence-words.ts';
import { countText, factTexts, meanwhileText, plural, showHidden } from '../../report/fact-text.ts';
import { Who } from '../../report/html/document.tsx';
import { Link } from '../../report/html/link.tsx';
import { Code, Lines, Mark, type Row, Table, Term, Words } from '../../report/html/text.tsx';
import { rolloutText } from '../../report/rule-view.ts';
import { reasonWords } from '../../report/words.ts';
import { addressOf, within } from '../address.ts';
import { readPage } from '../answer.tsx';
import { Live, Narrow } from '../parts/act.tsx';
import { Ago } from '../parts/figures.tsx';
import {
  chartOver,
  MatchCurve,
  type Range,
  type RunTally,
  rangeField,
  type Tallies,
  talliesOver,
} from '../parts/over-time.tsx';

export function RuleMode({ rule: { mode }, daemonMode }: { rule: Pick<Rule, 'mode'>; daemonMode: Mode }) {
  const inForce = leastMode(mode, daemonMode);
  return (
    <>
      <Mark word={mode} />
      {inForce === mode ? null : (
        <div>
          in force: <Mark word={inForce} />
        </div>
      )}
    </>
  );
}

const PATH = '/rules';
/** Tests run once for each loaded rule. A page does not wait longer for them. */
const TESTS_MS_MAX = 100;
const ON = 'run rules claim';

export function rulesPages(deps: HttpDeps): Route[] {
  return [
    readPage(deps, PATH, async (context) => {
      const { range } = readQuery(context, z.strictObject({ range: rangeField }));
      const path = addressOf(PATH, { range });
      return {
        title: 'Rules',
        section: PATH,
        live: ON,
        body: (
          <>
            <h1>Rules</h1>
            <Narrow scope="rules" noun="rules" />
            <Live id="rules" on={ON} path={path}>
              <Refusal lines={deps.ruleRefusal()} meanwhile={meanwhileText(deps.rules().length, deps.isDaemon)} />
              {await loaded(deps, range)}
            </Live>
          </>
        ),
      };
    }),
  ];
}

export function rulePath(id: string): string {
  return `${PATH}/${encodeURIComponent(id)}`;
}

function Refusal({ lines, meanwhile }: { lines: readonly string[] | undefined; meanwhile: string }) {
  if (lines === undefined) return null;
  return (
    <div class="notice bad" role="alert">
      <b>The rules folder was refused:</b> {plural(lines.length, 'problem')}. Until it is in order, {meanwhile}.
      <ul>
        <Lines texts={lines} as="li" />
      </ul>
    </div>
  );
}

async function loaded(deps: HttpDeps, range: Range) {
  const rules = [...deps.rules()].sort((one, other) => (one.id < other.id ? -1 : 1));
  const daemonMode = deps.daemonMode();
  const over = await talliesOver(deps, range);
  const { byRule: tallies, nowMs } = over;
  const inForce = await claimsByRule(deps);
  const rollouts = rules.some(({ rollout }) => rollout) ? await deps.reader.rollouts() : [];
  const reports = await testReports(deps, rules);
  const newest = newestOf([...tallies.values()].flatMap(([last]) => last ?? []));
  return (
    <>
      <section class="card">
        <p>
          {plural(rules.length, 'rule')} {rules.length === 1 ? 'is' : 'are'} loaded. The configured mode is{' '}
          <Mark word={daemonMode} />: no rule goes further than that.
          {newest === undefined ? null : (
            <>
              {' '}
              Matches are those of <Link href={`/runs/${newest.seq}`}>run {newest.seq}</Link>,{' '}
              <Ago at={newest.at} nowMs={nowMs} />, where a rule does not name another run.
            </>
          )}
        </p>
        <Guarding rules={rules} />
        <Table
          caption="The loaded rules"
          columns={COLUMNS}
          rows={rules.map((rule) =>
            ruleRow(rule, {
              daemonMode,
              newest,
              tallies: tallies.get(rule.id) ?? [],
              over,
              inForce: inForce.get(rule.id) ?? 0,
              rollouts,
              report: reports.get(rule.id),
              evidence: deps.evidence?.isKept() ? evidenceView(rule, deps.evidence) : undefined,
            }),
          )}
          empty="No rule is loaded."
        />
      </section>
      {await chartOver(deps, { path: PATH, tallies: over })}
    </>
  );
}

/** What asks a person, whatever a rule says. */
function Guarding({ rules }: { rules: readonly Rule[] }) {
  const guards = guardsOf(rules);
  const lines = guards ? guardLines(guards, 20) : [];
  const signed = guards?.signedBy ? <p>All files are signed by {guards.signedBy.join(' and ')}.</p> : null;
  if (lines.length === 0) return signed;
  return (
    <>
      {signed}
      <p>
        <b>Guards</b> (<code>guards.yaml</code>, <code>approvals.yaml</code>), for all rules. Trustward:
      </p>
      <ul>
        <Lines texts={lines} as="li" />
      </ul>
    </>
  );
}

async function claimsByRule({ reader }: HttpDeps): Promise<Map<string, number>> {
  const byRule = new Map<string, number>();
  for (const { rule, count } of await reader.claimCounts()) byRule.set(rule, (byRule.get(rule) ?? 0) + count);
  return byRule;
}

/** Of those rules whose tests end in time. */
async function testReports(deps: HttpDeps, rules: readonly Rule[]): Promise<Map<string, RuleTestReport>> {
  const reports = new Map<string, RuleTestReport>();
  const ended = rules.map(async ({ id }) => {
    // A rule that was unloaded meanwhile has none.
    const detail = await deps.ruleDetail(id).catch(() => undefined);
    if (detail) reports.set(id, detail.report);
  });
  await within(deps, TESTS_MS_MAX, Promise.all(ended));
  return reports;
}

const COLUMNS = [
  'Rule',
  'Severity',
  'Subject',
  'Does',
  'Mode',
  { head: 'Matches', kind: 'number' as const },
  'Over time',
  { head: 'In force', kind: 'number' as const },
  'Own tests',
];

function newestOf(tallies: readonly RunTally[]): RunTally | undefined {
  return tallies.toSorted((one, other) => other.seq - one.seq)[0];
}

interface AboutRule {
  daemonMode: Mode;
  newest: RunTally | undefined;
  tallies: readonly RunTally[];
  over: Tallies;
  inForce: number;
  /** Of rules with a rollout. */
  rollouts: readonly RolloutState[];
  report: RuleTestReport | undefined;
  /** Null: there is none yet; undefined: no history is kept. */
  evidence: ReportEvidence | null | undefined;
}

function ruleRow(
  rule: Rule,
  { daemonMode, newest, tallies, over, inForce, rollouts, report, evidence }: AboutRule,
): Row {
  const { id, title, severity, subject, then } = rule;
  const [last] = tallies;
  return {
    cells: [
      <>
        <Link href={rulePath(id)}>
          <Words>{title}</Words>
        </Link>
        <div class="quiet">
          <Code>{id}</Code>
        </div>
        {evidence === undefined ? null : <EvidenceLine mode={rule.mode} evidence={evidence} />}
      </>,
      <Mark word={severity} />,
      subject,
      then.map(({ action }) => (
        <div>
          <Term>{action}</Term>
        </div>
      )),
      <>
        <RuleMode rule={rule} daemonMode={daemonMode} />
        {rule.rollout ? <div class="quiet">{shortRollout(rule, stateOfRollout(rule, rollouts))}</div> : null}
      </>,
      last === undefined ? (
        '—'
      ) : (
        <>
          {countText(last.match)}
          {last.seq === newest?.seq ? null : <div class="quiet">in run {last.seq}</div>}
          {last.unknown + last.error > 0 ? (
            <div class="quiet">{countText(last.unknown + last.error)} unknown</div>
          ) : null}
        </>
      ),
      last === undefined ? <span class="quiet">not judged yet</span> : <MatchCurve tallies={tallies} over={over} />,
      inForce === 0 ? '0' : <Link href={addressOf('/in-force', { rule: id })}>{countText(inForce)}</Link>,
      <TestsMark report={report} />,
    ],
  };
}

/** Its page has until when, and why it was stopped. */
function shortRollout(rule: Rule, state: RolloutState | undefined): string {
  return `${stepOfText(rolloutText(rule, state))}${state?.braked ? ', stopped' : ''}`;
}

/** What its evidence allows beside what it does; the rule's page has all of it. */
function EvidenceLine({ mode, evidence }: { mode: Mode; evidence: ReportEvidence | null }) {
  if (evidence === null) return <div class="quiet">no evidence yet</div>;
  const { earned, replayed, text } = evidence;
  const words =
    leastMode(mode, earned) !== mode ? (
      <Mark word={earned} tone="wait" text={`its mode ${mode} is not earned`} />
    ) : earned === mode ? (
      'its mode is earned'
    ) : (
      `${earned} is earned`
    );
  return (
    <div class="quiet" title={showHidden(text)}>
      {plural(replayed?.days ?? 0, 'day')} of evidence: {words}
    </div>
  );
}

function TestsMark({ report }: { report: RuleTestReport | undefined }) {
  if (report === undefined) return <span class="quiet">still running</span>;
  const { tests, ok } = report;
  if (tests.length === 0) return <Mark word="none" tone="wait" />;
  const failed = tests.filter((test) => !test.ok).length;
  const text = failed > 0 ? `${failed} of ${tests.length} failed` : `${tests.length} passed`;
  return (
    <>
      <Mark word={text} tone={failed > 0 ? 'bad' : 'good'} />
      {ok || failed > 0 ? null : <div class="quiet">with gaps</div>}
    </>
  );
}

// The text of a rule file with line numbers, and what is wrong at a line.

const LINES_MAX = 2_000;
const AROUND = 2;

export function Source({ text, label }: { text: string; label: string }) {
  const lines = linesOf(text);
  return (
    <>
      <SourceBox label={label}>
        {lines.slice(0, LINES_MAX).map((line, at) => (
          <Line no={at + 1} text={line} id={`L${at + 1}`} />
        ))}
      </SourceBox>
      {lines.length > LINES_MAX ? <p class="quiet">The rest of {lines.length} lines is left out.</p> : null}
    </>
  );
}

interface SourceProblem {
  /** From 1; undefined: of the whole text. */
  line: number | undefined;
  text: string;
}

/** `x.yaml:3:7: message`, as loading reports them, one a line. */
export function problemsIn(message: string, file: string): SourceProblem[] {
  return message.split('\n').map((text) => {
    const rest = text.startsWith(`${file}:`) ? text.slice(file.length + 1) : '';
    const [, line, column, words] = /^(\d+):(\d+): (.*)$/s.exec(rest) ?? [];
    return words === undefined ? { line: undefined, text } : { line: Number(line), text: `column ${column}: ${words}` };
  });
}

/** Each problem below its line, with the lines around it. */
export function SourceProblems({ text, problems }: { text: string; problems: readonly SourceProblem[] }) {
  const lines = linesOf(text);
  const near = (no: number) => problems.some(({ line }) => line !== undefined && Math.abs(line - no) <= AROUND);
  const shown = lines.flatMap((line, at) => (near(at + 1) ? [{ no: at + 1, line }] : []));
  return (
    <>
      <ul>
        {problems.map(({ line, text: words }) => (
          <li>
            {line === undefined ? null : <b>Line {line}, </b>}
            <Words>{words}</Words>
          </li>
        ))}
      </ul>
      {shown.length === 0 ? null : (
        <SourceBox label="The lines with problems">
          {shown.map(({ no, line }, at) => (
            <>
              {at > 0 && shown[at - 1]?.no !== no - 1 ? '⋮\n' : ''}
              <Line no={no} text={line} />
              {problems.map((problem) =>
                problem.line === no ? <b class="wrong">{`▲ ${showHidden(problem.text)}\n`}</b> : null,
              )}
            </>
          ))}
        </SourceBox>
      )}
    </>
  );
}

/** Long lines are reached with the keyboard, too. */
export function SourceBox({ label, children }: { label: string; children?: Child }) {
  return (
    <section class="scroll" aria-label={label} tabindex={0}>
      <pre class="source">{children}</pre>
    </section>
  );
}

function Line({ no, text, id }: { no: number; text: string; id?: string }) {
  return (
    <>
      <span class="no" id={id}>
        {`${no} `}
      </span>
      {`${lineText(text)}\n`}
    </>
  );
}

export function lineText(line: string): string {
  return showHidden(line.replaceAll('\t', '  '));
}

export function linesOf(text: string): string[] {
  const lines = text.split(/\r\n|\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

// Decisions of one rule as rows: who, what was decided and why, since when, the facts, in which run.

export const DECISION_COLUMNS = [
  'Who',
  'Decided',
  { head: 'Why', kind: 'id' },
  { head: 'Facts', kind: 'facts' },
  'Since',
  'Run',
] as const;

export function decisionRow(stored: DecisionNow, nowMs: number): Row {
  const decision = decisionView(stored);
  const { subject, action, target, reason, reasonText, facts, since, runSeq, writtenAt } = decision;
  return {
    cells: [
      <Who who={subject} href={subjectPath(subject.kind, subject.id)} shown={target} />,
      <>
        <Mark
          word={decision.decision}
          text={decisionWords(decision)}
          {...(wasAnswered(decision) ? { tone: 'calm' } : actKindOf(decision) === 'reported' ? { tone: 'wait' } : {})}
        />
        <div>
          <Term>{action}</Term> on <Code>{target}</Code>
        </div>
      </>,
      <>
        {reasonWords(reason)}
        {reasonText === reasonWords(reason) ? null : (
          <div class="quiet">
            <Words>{reasonText}</Words>
          </div>
        )}
      </>,
      <Facts facts={facts} atMs={stored.writtenAt} />,
      <Ago at={since} nowMs={nowMs} />,
      <>
        <Link href={`/runs/${runSeq}`} aria-label={`the report of run ${runSeq}`}>
          {runSeq}
        </Link>
        <div class="quiet">
          <Ago at={writtenAt} nowMs={nowMs} />
        </div>
      </>,
    ],
  };
}

export function Facts({ facts, atMs }: { facts: DecisionNow['facts']; atMs: number }) {
  return <Lines texts={factTexts(facts, atMs)} />;
}
