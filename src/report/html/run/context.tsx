// report: the context of a run's HTML report: what is unknown and how to get it, limits and ceilings, the trend, sources, rules, the run. In:
// a report. Out: elements that may hold hostile names, escaped.

import { countText, plural } from '../../fact-text.ts';
import { boundRows, howToLines, trendHeading, trendRows } from '../../figure-words.ts';
import { unknownGroups } from '../../groups.ts';
import { joinedLine } from '../../marked.ts';
import type { Report, ReportSnapshot } from '../../report.ts';
import { whoLine } from '../../who.ts';
import { durationWords, modeWords, placeWords, sourceWords, startedByWords } from '../../words.ts';
import { Bar, Sparkline } from '../bar.tsx';
import { Line } from '../line.tsx';
import { Link } from '../link.tsx';
import { Mark } from '../marks.tsx';
import { Table } from '../table.tsx';
import { Code, When, Words } from '../text.tsx';
import { type Place, planPath, rulePath } from './place.ts';

const FACTS_MAX = 10;

export function Unknown({ report, place }: { report: Report; place: Place }) {
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

export function Bounds({ report }: { report: Report }) {
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

export function Trend({ report, place }: { report: Report; place: Place }) {
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

export function Sources({ snapshot }: { snapshot: ReportSnapshot }) {
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

export function Rules({ report, place }: { report: Report; place: Place }) {
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

export function HowItWent({ report: { run, plan }, place }: { report: Report; place: Place }) {
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
