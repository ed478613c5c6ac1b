// report: the context of a run's HTML report: what is unknown and how to get it, limits and ceilings, the trend, sources, rules, the run. In:
// a report. Out: elements that may hold hostile names, escaped.

import type { Report, ReportSnapshot } from '../../../contract/report.ts';
import { decisionWords } from '../decision-words.ts';
import { countText, joinedLine, plural, whoLine } from '../fact-text.ts';
import {
  boundRows,
  changeWords,
  durationWords,
  headline,
  howToLines,
  kindAndTime,
  modeWords,
  placeWords,
  progressWords,
  type RowGroup,
  rowGroups,
  sourceWords,
  startedByWords,
  summaryWords,
  trendHeading,
  trendRows,
  unknownGroups,
} from '../words.ts';
import {
  Bar,
  groupSections,
  idOfGroup,
  Line,
  type Place,
  planPath,
  rulePath,
  Sentences,
  Sparkline,
} from './groups.tsx';
import { Link } from './link.tsx';
import { Code, Mark, Table, When, Words } from './text.tsx';

const FACTS_MAX = 10;

function Unknown({ report, place }: { report: Report; place: Place }) {
  const groups = unknownGroups(report);
  if (groups.length === 0) return null;
  const total = groups.reduce((sum, { count }) => sum + count, 0);
  return (
    <section class="card">
      <h2>{`Unknown (${countText(total)})`}</h2>
      <p>
        A fact that a rule needs is missing, too old or of the wrong type. Unknown verdicts never lead to an action.
      </p>
      <HowTo report={report} />
      {groups.map(({ rule, title, count, missing, examples }) => (
        <details data-group>
          <summary>
            <h3>
              {countText(count)} × {rule}: <Words>{title}</Words>
            </h3>
          </summary>
          <p>
            Missing:{' '}
            {missing.slice(0, FACTS_MAX).map((item, at) => (
              <>
                {at > 0 ? ', ' : ''}
                <Code>{item.fact}</Code> ({countText(item.count)})
              </>
            ))}
            {missing.length > FACTS_MAX ? ` and ${countText(missing.length - FACTS_MAX)} more` : ''}
          </p>
          <Table
            caption={`Subjects that ${rule} could not judge`}
            columns={['Who', 'Why']}
            rows={examples.map(({ who, reason }) => ({
              cells: [<Line of={whoLine(who)} />, <Words>{reason}</Words>],
            }))}
          />
          {count > examples.length ? <p class="quiet">and {countText(count - examples.length)} more</p> : null}
          {place.isPage ? (
            <p>
              <Link href={rulePath(rule)}>Rule {rule}</Link>
            </p>
          ) : null}
        </details>
      ))}
    </section>
  );
}

function HowTo({ report }: { report: Report }) {
  const lines = howToLines(report);
  if (lines.length === 0) return null;
  return (
    <>
      <h3>How to get what is missing</h3>
      <ul>
        {lines.map(({ facts, text }) => (
          <li>
            <Line of={joinedLine(facts.slice(0, FACTS_MAX), ', ')} />
            <Words>{text}</Words>.
          </li>
        ))}
      </ul>
    </>
  );
}

function Bounds({ report }: { report: Report }) {
  const { rows, left } = boundRows(report);
  if (rows.length === 0) return null;
  return (
    <section class="card">
      <h2>Limits and ceilings</h2>
      <Table
        caption="How much of each limit and ceiling is used"
        columns={['Rule or action', 'Limit', 'Used']}
        rows={rows.map(({ name, bound, count, allowed, note }) => ({
          cells: [name, bound, <Bar used={count} allowed={allowed} noun={note} />],
        }))}
      />
      {left > 0 ? <p class="quiet">and {countText(left)} of which less than half is used</p> : null}
    </section>
  );
}

function Trend({ report, place }: { report: Report; place: Place }) {
  const rows = trendRows(report);
  if (rows.length === 0) return null;
  return (
    <section class="card">
      <h2>{trendHeading(report)}</h2>
      <Table
        caption={trendHeading(report)}
        columns={['Rule', 'Runs, oldest first', 'Matches']}
        rows={rows.map(({ rule, matches, words }) => ({
          cells: [
            place.isPage ? <Link href={rulePath(rule)}>{rule}</Link> : rule,
            <Sparkline counts={matches} label={`Matches of ${rule}: ${words}`} />,
            words,
          ],
        }))}
      />
    </section>
  );
}

function Sources({ snapshot }: { snapshot: ReportSnapshot }) {
  const rows = Object.entries(snapshot.sources);
  if (rows.length === 0) return null;
  return (
    <section class="card">
      <h2>Sources</h2>
      <Table
        caption="Sources, as this run read them"
        columns={['Source', 'Read', 'Trust', 'Notes']}
        rows={rows.map(([source, reading]) => {
          const { read, trust, notes } = sourceWords(reading);
          const shown =
            reading.state !== 'read' ? trust : <Mark word={trust} tone={reading.trusted ? 'good' : 'bad'} />;
          return { cells: [source, read, shown, notes.map((note) => <Line of={note} />)] };
        })}
      />
    </section>
  );
}

const VERDICTS = ['Match', 'No match', 'Unknown', 'Error'].map((head) => ({ head, kind: 'number' as const }));

function Rules({ report, place }: { report: Report; place: Place }) {
  if (report.rules.length === 0) return null;
  return (
    <section class="card">
      <h2>Rules</h2>
      <Table
        caption="What each rule found"
        columns={['Rule', 'Title', 'Mode', ...VERDICTS]}
        rows={report.rules.map(({ id, title, mode, judged, evidence, ...tally }) => ({
          cells: [
            place.isPage ? <Link href={rulePath(id)}>{id}</Link> : id,
            <>
              <Words>{title}</Words>
              {evidence ? <div class="quiet">{evidence.text}</div> : null}
            </>,
            <>
              <Mark word={mode} />
              {judged ? null : <div>not judged: a source it needs could not be read</div>}
            </>,
            ...[tally.match, tally.no_match, tally.unknown, tally.error].map(countText),
          ],
        }))}
      />
    </section>
  );
}

function HowItWent({ report: { run, plan }, place }: { report: Report; place: Place }) {
  const took = durationWords(run);
  return (
    <section class="card">
      <h2>How the run went</h2>
      <dl class="facts">
        <dt>run</dt>
        <dd>
          {placeWords(run)}, <Code>{run.id}</Code>
        </dd>
        <dt>status</dt>
        <dd>
          <Mark word={run.status} />
        </dd>
        <dt>mode</dt>
        <dd>{modeWords(run)}</dd>
        <dt>started</dt>
        <dd>
          <When at={run.startedAt} /> by {startedByWords(run)}
        </dd>
        {took === undefined ? null : (
          <>
            <dt>took</dt>
            <dd>{took}</dd>
          </>
        )}
        {plan.id === null ? null : (
          <>
            <dt>plan</dt>
            <dd>
              {place.isPage ? <Link href={planPath(plan.id)}>{plan.id}</Link> : <Code>{plan.id}</Code>} with{' '}
              {plural(plan.intents, 'intent')}
            </dd>
          </>
        )}
        {run.rulesDir === null ? null : (
          <>
            <dt>rules</dt>
            <dd>
              <Code>{run.rulesDir}</Code>
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}

// The beginning of a run's HTML report: one sentence, what changed since the run before, and what each rule and action
// affects.

/** A page stands under the name of the product; a file does not. */
function Headline({ report, place }: { report: Report; place: Place }) {
  return (
    <>
      <h1>
        <Words>{place.isPage ? `Run ${report.run.seq}: ${kindAndTime(report)}` : headline(report)}</Words>
      </h1>
      <p class="lead">
        <Words>{report.sentence}</Words>
      </p>
      <Sentences tone="quiet" of={summaryWords(report)} />
    </>
  );
}

function Changes({ report }: { report: Report }) {
  const words = changeWords(report);
  if (words === undefined) return null;
  return (
    <section class="card">
      <h2>What changed</h2>
      <p>
        <Words>{words.sentence}</Words>
      </p>
      {words.gone.length === 0 ? null : (
        <ul>
          {words.gone.map((line) => (
            <li>
              <Words>{line}</Words>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** `groups`: those of the rows below, which these lead to. */
function Effects({ report, groups, place }: { report: Report; groups: readonly RowGroup[]; place: Place }) {
  if (report.effects.length === 0) return null;
  const isUnknown = report.effects.some(({ ownersUnknown }) => ownersUnknown > 0);
  const counts = [...COUNTS, ...(isUnknown ? [NOT_KNOWN] : [])];
  const groupOf = (rule: string, action: string, decision: string) =>
    groups.find((one) => one.rule === rule && one.action === action && one.decisions[0]?.decision === decision);
  return (
    <section class="card">
      <h2>What it affects</h2>
      <Table
        caption="Devices and people, by rule, action and decision"
        columns={['Rule', 'Action', 'Decision', ...counts.map((head) => ({ head, kind: 'number' as const }))]}
        rows={report.effects.map(({ rule, action, decision, decisions, devices, people, ownersUnknown }) => {
          const group = groupOf(rule, action, decision);
          const words = <DecisionMark decision={decision} group={group} />;
          return {
            cells: [
              place.isPage ? <Link href={rulePath(rule)}>{rule}</Link> : rule,
              action,
              group ? <Link href={`#${idOfGroup(group)}`}>{words}</Link> : words,
              countText(decisions),
              countText(devices),
              countText(people),
              ...(isUnknown ? [ownersUnknown === 0 ? '' : countText(ownersUnknown)] : []),
            ],
          };
        })}
      />
    </section>
  );
}

/** What a dry run would do does not look as if it were done. */
function DecisionMark({ decision, group }: { decision: string; group: RowGroup | undefined }) {
  const [first] = group?.decisions ?? [];
  const isDone = group === undefined || !('limits' in group) || group.kind === 'done';
  return <Mark word={decision} {...(first && { text: decisionWords(first) })} {...(!isDone && { tone: 'wait' })} />;
}

const COUNTS = ['Matches', 'Devices', 'People'];
const NOT_KNOWN = 'Devices without known owners';

function InterruptedPlan({ report: { plan }, place }: { report: Report; place: Place }) {
  const words = progressWords(plan);
  if (words === undefined || plan.id === null) return null;
  return (
    <section class="card">
      <h2>Interrupted plan</h2>
      <p>
        <Words>{words}</Words>
      </p>
      <p>
        {place.isPage ? (
          <Link href={planPath(plan.id)}>Plan {plan.id}</Link>
        ) : (
          <Code>{`trustward apply ${plan.id}`}</Code>
        )}
      </p>
    </section>
  );
}

// A run's report as HTML, in its binding order, for the page and for the file.

interface ShownReport {
  report: Report;
  place: Place;
  /** What stands between the figures and the groups of decisions, as HTML: a way to narrow them. */
  tools?: string;
  /** The groups that are shown; by default all. */
  groups?: readonly RowGroup[];
}

export function* runReportPieces({
  report,
  place,
  tools = '',
  groups = rowGroups(report),
}: ShownReport): Generator<string> {
  yield String(<Headline report={report} place={place} />);
  yield String(<Changes report={report} />);
  yield String(<Effects report={report} groups={groups} place={place} />);
  if (groups.length > 0 || place.text !== undefined) yield tools;
  yield '<div id="decisions">';
  yield* groupSections(report, groups, place);
  yield '</div>';
  yield String(<InterruptedPlan report={report} place={place} />);
  yield String(<Unknown report={report} place={place} />);
  yield String(<Bounds report={report} />);
  yield String(<Trend report={report} place={place} />);
  yield String(<Sources snapshot={report.snapshot} />);
  yield String(<Rules report={report} place={place} />);
  yield String(<HowItWent report={report} place={place} />);
}
