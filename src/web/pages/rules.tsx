// web: the loaded rules: what each does, how far it may go, how many it matches, what it has in force, whether its own tests pass. In: the
// rules, the last runs. Out: a page; a refused folder is shown with each of its problems.

import type { Mode } from '../../domain/mode.ts';
import type { Rule } from '../../domain/rule.ts';
import type { RuleTestReport } from '../../domain/rule-tests.ts';
import type { HttpDeps } from '../../http/deps.ts';
import type { Route } from '../../http/route.ts';
import { evidenceLine } from '../../report/evidence-words.ts';
import { countText, plural } from '../../report/fact-text.ts';
import { Sparkline } from '../../report/html/bar.tsx';
import { Link } from '../../report/html/link.tsx';
import { Mark } from '../../report/html/marks.tsx';
import { type Row, Table } from '../../report/html/table.tsx';
import { Code, Term, Words } from '../../report/html/text.tsx';
import { meanwhileText } from '../../report/index.ts';
import { addressOf } from '../address.ts';
import { readPage } from '../answer.tsx';
import { Live } from '../parts/live.tsx';
import { Narrow } from '../parts/narrow.tsx';
import { within } from '../within.ts';
import { RuleMode } from './rule/mode.tsx';
import { lastTallies, type RunTally } from './rule/tallies.ts';

const PATH = '/rules';
/** Tests run once for each loaded rule. A page does not wait longer for them. */
const TESTS_MS_MAX = 100;
const ON = 'run rules claim';

export function rulesPages(deps: HttpDeps): Route[] {
  return [
    readPage(deps, PATH, async () => ({
      title: 'Rules',
      section: PATH,
      live: ON,
      body: (
        <>
          <h1>Rules</h1>
          <Narrow scope="rules" noun="rules" />
          <Live id="rules" on={ON} path={PATH}>
            <Refusal lines={deps.ruleRefusal()} meanwhile={meanwhileText(deps.rules().length, deps.isDaemon)} />
            {await loaded(deps)}
          </Live>
        </>
      ),
    })),
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
        {lines.map((line) => (
          <li>
            <Words>{line}</Words>
          </li>
        ))}
      </ul>
    </div>
  );
}

async function loaded(deps: HttpDeps) {
  const rules = [...deps.rules()].sort((one, other) => (one.id < other.id ? -1 : 1));
  const daemonMode = deps.daemonMode();
  const tallies = await lastTallies(deps);
  const inForce = await claimsByRule(deps);
  const reports = await testReports(deps, rules);
  return (
    <section class="card">
      <p>
        {plural(rules.length, 'rule')} {rules.length === 1 ? 'is' : 'are'} loaded. The configured mode is{' '}
        <Mark word={daemonMode} />: no rule goes further than that.
      </p>
      <Table
        caption="The loaded rules"
        columns={COLUMNS}
        rows={rules.map((rule) =>
          ruleRow(rule, {
            daemonMode,
            tallies: tallies.get(rule.id) ?? [],
            inForce: inForce.get(rule.id) ?? 0,
            report: reports.get(rule.id),
            evidence: evidenceLine(rule, deps.evidence),
          }),
        )}
        empty="No rule is loaded."
      />
    </section>
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
  'Last runs',
  { head: 'In force', kind: 'number' as const },
  'Own tests',
];

interface AboutRule {
  daemonMode: Mode;
  tallies: readonly RunTally[];
  inForce: number;
  report: RuleTestReport | undefined;
  evidence: string | undefined;
}

function ruleRow(rule: Rule, { daemonMode, tallies, inForce, report, evidence }: AboutRule): Row {
  const { id, title, severity, subject, then } = rule;
  const [last] = tallies;
  const counts = tallies.map(({ match }) => match).reverse();
  return {
    cells: [
      <>
        <Link href={rulePath(id)}>
          <Words>{title}</Words>
        </Link>
        <div class="quiet">
          <Code>{id}</Code>
        </div>
        {evidence === undefined ? null : <div class="quiet">{evidence}</div>}
      </>,
      <Mark word={severity} />,
      subject,
      then.map(({ action }) => (
        <div>
          <Term>{action}</Term>
        </div>
      )),
      <RuleMode rule={rule} daemonMode={daemonMode} />,
      last === undefined ? (
        '—'
      ) : (
        <>
          {countText(last.match)}
          {last.unknown + last.error > 0 ? (
            <div class="quiet">{countText(last.unknown + last.error)} unknown</div>
          ) : null}
        </>
      ),
      counts.length === 0 ? (
        <span class="quiet">not judged yet</span>
      ) : (
        <Sparkline
          counts={counts}
          label={`matches of the last ${plural(counts.length, 'run')}: ${counts.join(', ')}`}
        />
      ),
      inForce === 0 ? '0' : <Link href={addressOf('/in-force', { rule: id })}>{countText(inForce)}</Link>,
      <TestsMark report={report} />,
    ],
  };
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
