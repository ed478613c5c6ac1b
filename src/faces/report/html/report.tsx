// report: the decisions of a run as HTML: one group for each rule, action and reason, that can be folded. In: groups, and where they are
// shown. Out: pieces of bounded work.

import type { Report, RunDecision } from '../../../contract/report.ts';
import {
  alsoHit,
  type DecisionColumn,
  decisionColumns,
  decisionWords,
  OUTCOME,
  SKIPPED_BECAUSE,
  WAITS_BECAUSE,
} from '../decision-words.ts';
import { rulePath, type Section, subjectPath, titleOf } from '../document.ts';
import { countText } from '../fact-text.ts';
import { sharedLines } from '../grouped.ts';
import { contextSections, groupTitle, groupWordBlocks, leadSections } from '../sections.ts';
import {
  groupSections,
  headline,
  keyOfGroup,
  kindAndTime,
  type RowGroup,
  reasonOf,
  reasonWords,
  rowGroups,
  sectionOf,
  waitsInTime,
} from '../words.ts';
import { Line, ShownBlock, ShownSection, Who } from './document.tsx';
import { Link } from './link.tsx';
import { Code, Lines, Mark, type Row, Table, tablePieces, When, Words } from './text.tsx';

export interface Place {
  /** There are pages beside it; a file that is mailed has none. */
  isPage: boolean;
  /** The rows of a group that are shown at first. */
  rowsMax: number;
  /** A decision with all that its row shows; undefined: it was removed meanwhile. */
  whole(decision: RunDecision): RunDecision | undefined;
  /** The address of the rows after `after`. */
  more?(group: RowGroup, after: RunDecision): string;
  /** The text that a person narrowed the rows with. */
  text?: string;
}

// Decisions as rows of an HTML table: who with serial number and owners, the target, why with its facts and the
// smallest change, since when, the outcome.

/** INVARIANT: `shown` is whole; whether a column is needed follows from the rows that it is for. */
function groupColumns(group: RowGroup, shown: readonly RunDecision[]): DecisionColumn[] {
  const because = group.kind === 'hold' || waitsInTime(group) ? WAITS_BECAUSE : SKIPPED_BECAUSE;
  const more = 'limits' in group || reasonOf(group).isSame ? [] : [because];
  return decisionColumns(shown, group.kind === 'done' ? [OUTCOME] : more);
}

function decisionRow(
  decision: RunDecision,
  columns: readonly DecisionColumn[],
  { isPage }: Place,
  shared: ReadonlySet<string>,
): Row {
  return {
    cells: columns.map(({ kind, lines }) => {
      if (kind === 'who') return whoCell(decision, isPage);
      if (kind === 'since') return sinceCell(decision, lines(decision).length > 1);
      return lines(decision).flatMap((line) =>
        typeof line === 'string' && kind === 'facts' && shared.has(line) ? [] : <Line of={line} />,
      );
    }),
  };
}

function whoCell(decision: RunDecision, isPage: boolean) {
  const { subject, target } = decision;
  const href = isPage ? subjectPath(subject.kind, subject.id) : undefined;
  return (
    <>
      <Who who={subject} href={href} shown={target} />
      {alsoHit(decision).map((line) => (
        <Line of={line} />
      ))}
    </>
  );
}

function sinceCell({ since, change }: RunDecision, isMarked: boolean) {
  return (
    <>
      <When at={since} />
      {isMarked ? <div>{change}</div> : null}
    </>
  );
}

function* decisionSections(report: Report, groups: readonly RowGroup[], place: Place): Generator<string> {
  for (const section of groupSections(groups)) {
    yield `<section class="card">${<h2>{titleOf(section)}</h2>}`;
    for (const group of section.groups) yield* groupPieces(report, group, place);
    yield '</section>';
  }
}

function idOfGroup(group: RowGroup): string {
  return `group-${keyOfGroup(group).replaceAll(/[^\w-]+/g, '-')}`;
}

function* groupPieces(report: Report, group: RowGroup, place: Place): Generator<string> {
  const { decisions, rule, action } = group;
  // On a page what was skipped is folded, unless somebody looks for it.
  const isOpen = place.isPage
    ? group.kind !== 'skip' || place.text !== undefined
    : decisions.length <= OPEN_MAX && report.decisions.length <= OPEN_ALL_MAX;
  const summary = (
    <summary>
      <h3>
        {countText(decisions.length)} × {action} by {rule}
        {group.kind === 'skip' || group.kind === 'hold' ? (
          <>
            : <Words>{reasonWords(group.reason)}</Words>
          </>
        ) : null}
        {'undo' in group && group.undo ? ', undoing' : ''}
      </h3>
    </summary>
  );
  yield `<details data-group id="${idOfGroup(group)}"${isOpen ? ' open' : ''}>${summary}${<GroupWords report={report} group={group} place={place} />}`;
  yield* groupTable(group, decisions.slice(0, place.rowsMax), place);
  if (!place.isPage && decisions.length > OPEN_MAX)
    yield `<p class="paper">On paper: the first ${OPEN_MAX} of ${countText(decisions.length)} rows.</p>`;
  yield '</details>';
}

/** A group of a file with more rows is folded at first, and not printed as a whole: page.css has the same number. */
const OPEN_MAX = 100;
/** All groups of a file with more rows are: it opens at once. */
const OPEN_ALL_MAX = 1_000;

/** The rows, and the way to those after them. */
export function* groupTable(group: RowGroup, rows: readonly RunDecision[], place: Place): Generator<string> {
  const shown = rows.flatMap((decision) => place.whole(decision) ?? []);
  const own = groupColumns(group, shown);
  const facts = own.find(({ kind }) => kind === 'facts');
  const linesOf = (decision: RunDecision) => (facts?.lines(decision) ?? []).filter((line) => typeof line === 'string');
  const shared = sharedLines(shown.map(linesOf));
  const isNew = ({ kind }: DecisionColumn) =>
    kind !== 'facts' || shown.some((one) => linesOf(one).length > shared.size);
  const columns = own.filter(isNew);
  const caption = `${sectionOf(group)}: ${group.action} by ${group.rule}`;
  const table = { caption, columns: columns.map(({ head, kind }) => (kind === 'facts' ? { head, kind } : head)) };
  function* all() {
    for (const decision of shown) yield decisionRow(decision, columns, place, shared);
  }
  if (shared.size > 0) yield `<div class="quiet">${<Lines texts={[...shared].map((line) => `each: ${line}`)} />}</div>`;
  yield* tablePieces(table, all());
  const last = rows.at(-1);
  const left = last === undefined ? 0 : group.decisions.length - group.decisions.indexOf(last) - 1;
  if (left > 0 && last && place.more) yield String(<More href={place.more(group, last)} left={left} group={group} />);
}

/** With htmx the rest is put in its place; without it is a page of its own. */
function More({ href, left, group }: { href: string; left: number; group: RowGroup }) {
  return (
    <p class="more">
      <Link
        class="button"
        href={href}
        rel="next"
        hx-get={href}
        hx-target="closest p"
        hx-swap="outerHTML"
        hx-select="#rows > *"
      >
        More of {group.action} by {group.rule}
      </Link>{' '}
      <span class="quiet">{countText(left)} more</span>
    </p>
  );
}

function GroupWords({ report, group, place: { isPage } }: { report: Report; group: RowGroup; place: Place }) {
  const { rule } = group;
  const title = groupTitle(group);
  return (
    <>
      <p>
        Rule {isPage ? <Link href={rulePath(rule)}>{rule}</Link> : <Code>{rule}</Code>}: <Words>{title}</Words>.
      </p>
      {groupWordBlocks(report, group).map((block) => (
        <ShownBlock block={block} title={title} isPage={isPage} />
      ))}
    </>
  );
}

/** `groups`: those of the rows below, which these lead to. */
function Effects({ report, groups, place }: { report: Report; groups: readonly RowGroup[]; place: Place }) {
  if (report.effects.length === 0) return null;
  const isUnknown = report.effects.some(({ ownersUnknown }) => ownersUnknown > 0);
  const counts = [...COUNTS, ...(isUnknown ? [NOT_KNOWN] : [])];
  const groupOf = (rule: string, action: string, decision: string) => {
    const ofIt = groups.filter(
      (one) => one.rule === rule && one.action === action && one.decisions[0]?.decision === decision,
    );
    // What waits for its time counts as skipped: the row leads there only where all of it waits.
    return ofIt.find((one) => !waitsInTime(one)) ?? ofIt[0];
  };
  return (
    <section class="card">
      <h2>Who matches, and what is decided</h2>
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

// A run's report as HTML, in its binding order, for the page and for the file.

interface ShownReport {
  report: Report;
  place: Place;
  /** What stands below the title, as HTML. */
  head?: string;
  /** What stands between the figures and the groups of decisions, as HTML: a way to narrow them. */
  tools?: string;
  /** The groups that are shown; by default all. */
  groups?: readonly RowGroup[];
}

/** Examples of who could not be judged: the files have all that are kept. */
const NAMES_OF_PAGE = 5;

/** A page stands under the name of the product; a file does not. */
export function* runReportPieces({
  report,
  place,
  head = '',
  tools = '',
  groups = rowGroups(report),
}: ShownReport): Generator<string> {
  const { isPage } = place;
  const title = isPage ? `Run ${report.run.seq}: ${kindAndTime(report)}` : headline(report);
  const shown = (section: Section) => String(<ShownSection section={section} isPage={isPage} />);
  yield String(
    <h1>
      <Words>{title}</Words>
    </h1>,
  );
  yield head;
  for (const section of leadSections(report)) yield shown(section);
  yield String(<Effects report={report} groups={groups} place={place} />);
  if (groups.length > 0 || place.text !== undefined) yield tools;
  yield '<div id="decisions">';
  yield* decisionSections(report, groups, place);
  yield '</div>';
  const names = isPage ? NAMES_OF_PAGE : Number.MAX_SAFE_INTEGER;
  for (const section of contextSections(report, { names, titles: true })) yield shown(section);
}
