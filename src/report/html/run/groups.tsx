// report: the decisions of a run as HTML: one group for each rule, action and reason, that can be folded. In: groups, and where they are
// shown. Out: pieces of bounded work.

import type { ActKind } from '../../act-kind.ts';
import { countText } from '../../fact-text.ts';
import { approvalWords, groupWords } from '../../figure-words.ts';
import { eachOf, joinedParts } from '../../pieces.ts';
import type { Report, RunDecision } from '../../report.ts';
import { keyOfGroup, type RowGroup } from '../../row-groups.ts';
import { canBeApproved, heldTitle, reasonWords, wayOutWords } from '../../words.ts';
import { Sentences } from '../line.tsx';
import { Link } from '../link.tsx';
import { tablePieces } from '../table.tsx';
import { Code, Words } from '../text.tsx';
import { type Place, planPath, rulePath } from './place.ts';
import { decisionRow, groupColumns } from './rows.tsx';

const ACTS: Record<ActKind, string> = {
  done: 'Acted on',
  would: 'Would act',
  reported: 'Only reported (rules of mode dry-run)',
};

/** The sections in which groups stand. */
function sectionOf(group: RowGroup): string {
  if (group.kind === 'skip') return 'Skipped';
  if (group.kind !== 'hold') return ACTS[group.kind];
  return heldTitle(group);
}

/** Each heading once, in the order of the groups. */
export function* groupSections(report: Report, groups: readonly RowGroup[], place: Place): Generator<string> {
  for (const title of new Set(groups.map(sectionOf))) {
    const those = groups.filter((group) => sectionOf(group) === title);
    const count = those.reduce((sum, { decisions }) => sum + decisions.length, 0);
    yield `<section class="card">${<h2>{`${title} (${countText(count)})`}</h2>}`;
    yield* joinedParts(
      eachOf(those, (group) => groupPieces(report, group, place)),
      '',
    );
    yield '</section>';
  }
}

export function idOfGroup(group: RowGroup): string {
  return `group-${keyOfGroup(group).replaceAll(/[^\w-]+/g, '-')}`;
}

function* groupPieces(report: Report, group: RowGroup, place: Place): Generator<string> {
  const { decisions, rule, action } = group;
  const isOpen = place.isPage || (decisions.length <= OPEN_MAX && report.decisions.length <= OPEN_ALL_MAX);
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
  yield* groupTable(report, group, decisions.slice(0, place.rowsMax), place);
  if (!place.isPage && decisions.length > OPEN_MAX)
    yield `<p class="paper">On paper: the first ${OPEN_MAX} of ${countText(decisions.length)} rows.</p>`;
  yield '</details>';
}

/** A group of a file with more rows is folded at first, and not printed as a whole: page.css has the same number. */
const OPEN_MAX = 100;
/** All groups of a file with more rows are: it opens at once. */
const OPEN_ALL_MAX = 1_000;

/** The rows, and the way to those after them. */
export function* groupTable(
  report: Report,
  group: RowGroup,
  rows: readonly RunDecision[],
  place: Place,
): Generator<string> {
  const shown = rows.flatMap((decision) => place.whole(decision) ?? []);
  const columns = groupColumns(group, shown, report.run);
  const caption = `${sectionOf(group)}: ${group.action} by ${group.rule}`;
  const table = { caption, columns: columns.map(({ head, kind }) => (kind === 'facts' ? { head, kind } : head)) };
  yield* tablePieces(
    table,
    eachRow(shown, (decision) => decisionRow(decision, columns, place)),
  );
  const last = rows.at(-1);
  const left = last === undefined ? 0 : group.decisions.length - group.decisions.indexOf(last) - 1;
  if (left > 0 && last && place.more) yield String(<More href={place.more(group, last)} left={left} group={group} />);
}

function* eachRow<T, R>(items: readonly T[], make: (item: T) => R): Generator<R> {
  for (const item of items) yield make(item);
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

export function GroupWords({ report, group, place }: { report: Report; group: RowGroup; place: Place }) {
  const { rule, title, decisions } = group;
  const [first] = decisions as [RunDecision];
  const head = (
    <p>
      Rule {place.isPage ? <Link href={rulePath(rule)}>{rule}</Link> : <Code>{rule}</Code>}: <Words>{title}</Words>.{' '}
      <Words>{groupWords(decisions, report)}</Words>
    </p>
  );
  if (group.kind === 'skip')
    return (
      <>
        {head}
        {because(group, 'Skipped')}
      </>
    );
  if ('limits' in group)
    return (
      <>
        {head}
        <Sentences of={group.limits.map((limit) => `${limit}.`)} />
      </>
    );
  const { plan } = report;
  return (
    <>
      {head}
      {because(group, 'Held')}
      <Sentences
        of={[wayOutWords(first, report), ...(canBeApproved(first, report) ? [approvalWords(decisions)] : [])]}
      />
      {plan.id !== null && first.inPlan ? (
        <PlanWay plan={plan.id} place={place} isWaiting={canBeApproved(first, report)} />
      ) : null}
    </>
  );
}

function because(group: Extract<RowGroup, { kind: 'hold' | 'skip' }>, verb: string) {
  const reasons = new Set(group.decisions.map(({ reasonText }) => reasonText));
  const [only] = reasons;
  const text = reasons.size === 1 ? (only as string) : reasonWords(group.reason);
  return <Sentences of={[`${verb} because ${text}.`]} />;
}

function PlanWay({ plan, place, isWaiting }: { plan: string; place: Place; isWaiting: boolean }) {
  if (place.isPage)
    return (
      <p>
        <Link href={planPath(plan)}>Plan {plan}</Link>
      </p>
    );
  if (!isWaiting) return null;
  return (
    <p>
      <Code>{`trustward approve ${plan}`}</Code> or <Code>{`trustward reject ${plan}`}</Code>
    </p>
  );
}
