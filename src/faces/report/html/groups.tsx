// report: the decisions of a run as HTML: one group for each rule, action and reason, that can be folded. In: groups, and where they are
// shown. Out: pieces of bounded work.

import type { Report, ReportRun, RunDecision } from '../../../contract/report.ts';
import type { SubjectKind } from '../../../domain/subjects.ts';
import {
  type ActKind,
  alsoHit,
  type DecisionColumn,
  decisionColumns,
  eachOf,
  HELD_BECAUSE,
  joinedParts,
  OUTCOME,
  SKIPPED_BECAUSE,
} from '../decision-words.ts';
import { type CellLine, countText, type Who as KnownSubject, partsOf } from '../fact-text.ts';
import {
  approvalWords,
  canBeApproved,
  groupWords,
  heldTitle,
  keyOfGroup,
  type RowGroup,
  reasonWords,
  wayOutWords,
} from '../words.ts';
import { Link } from './link.tsx';
import { Code, Name, type Row, tablePieces, When, Words } from './text.tsx';

export function Line({ of }: { of: CellLine }) {
  return <div>{partsOf(of).map(({ text, isWhole }) => (isWhole ? <Code>{text}</Code> : <Words>{text}</Words>))}</div>;
}

/** Sentences of one paragraph; nothing without any. */
export function Sentences({ of, tone }: { of: readonly string[]; tone?: string }) {
  const shown = of.filter((text) => text !== '');
  if (shown.length === 0) return null;
  return (
    <p class={tone}>
      {shown.map((text) => (
        <>
          <Words>{text}</Words>{' '}
        </>
      ))}
    </p>
  );
}

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

export function rulePath(rule: string): string {
  return `/rules/${encodeURIComponent(rule)}`;
}

export function planPath(plan: string): string {
  return `/plans/${encodeURIComponent(plan)}`;
}

// A subject or target as people know it, in HTML: name, serial number, owners and id.

const OWNERS_MAX = 3;

/** Where the page of a subject is; undefined in a file that is mailed. */
export function subjectPath(kind: SubjectKind, id: string): string {
  return `/subjects/${kind}/${encodeURIComponent(id)}`;
}

/** `shown`: the serial number that stands beside it already. */
export function Who({ who, href, shown }: { who: KnownSubject; href?: string | undefined; shown?: string }) {
  const { id, name, serial, owners } = who;
  const title = name && name !== id ? <Name>{name}</Name> : <Code>{id}</Code>;
  const all = owners ?? [];
  return (
    <span class="who">
      {href === undefined ? <b>{title}</b> : <Link href={href}>{title}</Link>}
      {serial && serial !== id && serial !== shown ? (
        <span>
          serial <Code>{serial}</Code>
        </span>
      ) : null}
      {all.length > 0 ? (
        <span>
          {all.slice(0, OWNERS_MAX).map((owner, at) => (
            <>
              {at > 0 ? ', ' : ''}
              <Code>{owner}</Code>
            </>
          ))}
          {all.length > OWNERS_MAX ? ` and ${all.length - OWNERS_MAX} more` : ''}
        </span>
      ) : null}
      {name && name !== id ? (
        <span class="quiet">
          <Code>{id}</Code>
        </span>
      ) : null}
    </span>
  );
}

// Decisions as rows of an HTML table: who with serial number and owners, the target, why with its facts and the
// smallest change, since when, the outcome.

/** INVARIANT: `shown` is whole; whether a column is needed follows from the rows that it is for. */
function groupColumns(group: RowGroup, shown: readonly RunDecision[], run: ReportRun): DecisionColumn[] {
  const isSame = new Set(group.decisions.map(({ reasonText }) => reasonText)).size === 1;
  const more = {
    ...{ done: [OUTCOME], would: [], reported: [] },
    hold: isSame ? [] : [HELD_BECAUSE],
    skip: isSame ? [] : [SKIPPED_BECAUSE],
  }[group.kind];
  return decisionColumns(shown, more, run);
}

function decisionRow(decision: RunDecision, columns: readonly DecisionColumn[], { isPage }: Place): Row {
  return {
    cells: columns.map(({ kind, lines }) => {
      if (kind === 'who') return whoCell(decision, isPage);
      if (kind === 'since') return sinceCell(decision, lines(decision).length > 1);
      return lines(decision).map((line) => <Line of={line} />);
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

function GroupWords({ report, group, place }: { report: Report; group: RowGroup; place: Place }) {
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

// How much of a bound is used, as a bar beside its numbers.

/** `allowed` 0: nothing is. The numbers are always there: the bar adds nothing for who cannot see it. */
export function Bar({ used, allowed, noun = '' }: { used: number; allowed: number; noun?: string }) {
  const share = allowed === 0 ? (used > 0 ? 1 : 0) : Math.min(1, used / allowed);
  const tone = used > allowed ? 'over' : share >= 0.8 ? 'near' : 'under';
  return (
    <span class="bar-line">
      <svg class={`bar ${tone}`} viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
        <rect class="rest" width="100" height="8" rx="2" />
        <rect class="used" width={String(Math.round(share * 100))} height="8" rx="2" />
      </svg>
      <span>
        {countText(used)} of {countText(allowed)} {noun}
      </span>
    </span>
  );
}

/** Counts over time, the oldest first. */
export function Sparkline({ counts, label }: { counts: readonly number[]; label: string }) {
  const most = Math.max(1, ...counts);
  const width = 4 * counts.length;
  return (
    <svg class="sparkline" viewBox={`0 0 ${Math.max(width, 4)} 20`} role="img" aria-label={label}>
      {counts.map((count, at) => {
        const height = count === 0 ? 1 : Math.max(2, Math.round((count / most) * 20));
        return <rect x={String(at * 4)} y={String(20 - height)} width="3" height={String(height)} />;
      })}
    </svg>
  );
}
