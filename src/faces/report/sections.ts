// report: the report of a run as a document: its sections, in their binding order, for every writer. In: a report. Out: plain text that may
// hold hostile names. Long lists are capped; the JSON report has everything.

import type { Report, RunDecision } from '../../contract/report.ts';
import type { KnownTraits } from '../../domain/action.ts';
import { answerCommand } from '../../domain/plan.ts';
import { decisionColumns, OUTCOME, WAITS_BECAUSE } from './decision-words.ts';
import { type Block, capped, type Document, planPath, rulePath, type Section, words } from './document.ts';
import { evidenceLines } from './evidence-words.ts';
import { andMore, type CellLine, countText, joinedLine, marked, plural, shownAs, whoLine } from './fact-text.ts';
import { groupReasons } from './grouped.ts';
import {
  approvalWords,
  boundRows,
  canBeApproved,
  changeWords,
  durationWords,
  type GroupSection,
  groupSections,
  groupWords,
  headline,
  howToLines,
  modeLine,
  placeWords,
  progressWords,
  type ReasonGroup,
  type RowGroup,
  reasonOf,
  reasonWords,
  rowGroups,
  sharedWords,
  sourceWords,
  startedByWords,
  summaryWords,
  trendHeading,
  trendRows,
  unknownGroups,
  waitsInTime,
  wayOutWords,
} from './words.ts';

/** What one medium has space for. */
interface Limits {
  /** Rows of one table of decisions. */
  rows: number;
  /** Names in one cell. */
  names: number;
  /** Whether the table of rules has their titles. */
  titles: boolean;
  /** What they call targets that the record does not name. */
  actions?: KnownTraits | undefined;
}

const LIMITS = {
  text: { rows: 100, names: 5, titles: false },
  md: { rows: 40, names: 10, titles: false },
} as const;

export function readableReport(report: Report, medium: keyof typeof LIMITS, actions?: KnownTraits): Document {
  return { title: headline(report), sections: reportSections(report, { ...LIMITS[medium], actions }) };
}

function* reportSections(report: Report, limits: Limits): Generator<Section> {
  yield* leadSections(report);
  for (const section of groupSections(rowGroups(report))) yield decisionsSection(report, section, limits);
  yield* contextSections(report, limits);
}

/** What stands before the decisions. */
export function* leadSections(report: Report): Generator<Section> {
  yield { title: '', blocks: [words('lead', report.sentence), words('quiet', ...summaryWords(report))] };
  yield* changesSection(report);
  yield* interruptedSection(report);
}

/** What stands after the decisions. */
export function* contextSections(
  report: Report,
  { names, titles }: Pick<Limits, 'names' | 'titles'>,
): Generator<Section> {
  yield* unknownSection(report, names);
  yield* howToSection(report);
  yield* boundsSection(report);
  yield* trendSection(report);
  yield* sourcesSection(report);
  yield* rulesSection(report, titles);
  yield runSection(report);
}

function* changesSection(report: Report): Generator<Section> {
  const found = changeWords(report);
  if (found === undefined) return;
  const { sentence, gone } = found;
  yield {
    title: 'What changed',
    blocks: [words('plain', sentence), ...(gone.length === 0 ? [] : [{ is: 'list', items: gone } as const])],
  };
}

function* interruptedSection({ plan }: Report): Generator<Section> {
  const progress = progressWords(plan);
  if (progress === undefined || plan.id === null) return;
  const commands = [`trustward apply ${plan.id}`];
  const way = { is: 'commands', to: 'To continue', commands, page: planPage(plan.id) } as const;
  yield { title: 'Interrupted plan', blocks: [words('plain', progress), way] };
}

function decisionsSection(report: Report, { title, count, groups }: GroupSection, limits: Limits): Section {
  const skipped = groups.flatMap((group) => (group.kind === 'skip' ? [group] : []));
  const blocks = skipped.length > 0 ? [skippedTable(skipped, limits.names)] : groupBlocks(report, groups, limits);
  return { title, count, blocks };
}

function* groupBlocks(report: Report, groups: GroupSection['groups'], limits: Limits): Generator<Block> {
  for (const group of groups) {
    const { action, rule, decisions } = group;
    const undo = 'undo' in group && group.undo ? ', undoing' : '';
    const more =
      'limits' in group ? (group.kind === 'done' ? [OUTCOME] : []) : reasonOf(group).isSame ? [] : [WAITS_BECAUSE];
    yield {
      is: 'part',
      title: marked(shownAs('term', action), ' by rule ', shownAs('term', rule), `${undo}: ${groupTitle(group)}`),
      count: decisions.length,
      blocks: [...groupWordBlocks(report, group), decisionTable(decisions, more, limits)],
    };
  }
}

/** The title of its rule, and what lowered its mode. */
export function groupTitle(group: RowGroup): string {
  const limits = 'limits' in group ? group.limits : [];
  return limits.length === 0 ? group.title : `${group.title} (${limits.join('; ')})`;
}

/** What all of a group have in common, and what an operator can do about it. */
export function groupWordBlocks(report: Report, group: RowGroup): Block[] {
  const { decisions } = group;
  const effect = groupWords(decisions, report);
  if ('limits' in group) return [words('plain', effect)];
  const { because } = reasonOf(group);
  if (group.kind === 'skip')
    return [words('plain', `${waitsInTime(group) ? 'Waits' : 'Skipped'} because ${because}.`, effect)];
  const first = decisions[0] as RunDecision;
  const { id, digest } = report.plan;
  const isOpen = canBeApproved(first, report);
  return [
    words(
      'plain',
      `Waits because ${because}.`,
      effect,
      sharedWords(group, report),
      wayOutWords(first, report),
      isOpen ? approvalWords(decisions) : undefined,
    ),
    ...(id === null || !first.inPlan
      ? []
      : [
          {
            is: 'commands',
            to: 'To decide',
            commands: isOpen ? [answerCommand('approve', { id, digest }), answerCommand('reject', { id, digest })] : [],
            page: planPage(id),
          } as const,
        ]),
  ];
}

function planPage(id: string) {
  return { name: 'Read its plan', path: planPath(id) };
}

function decisionTable(
  decisions: readonly RunDecision[],
  more: Parameters<typeof decisionColumns>[1],
  { rows: rowsMax, actions }: Limits,
): Block {
  const columns = decisionColumns(decisions, more, actions);
  const shown = decisions.slice(0, rowsMax);
  const left = decisions.length - shown.length;
  function* rows() {
    for (const decision of shown) yield columns.map((column) => column.lines(decision));
  }
  return {
    is: 'table',
    columns: columns.map(({ head }) => head),
    rows: rows(),
    left: left > 0 ? `and ${countText(left)} more: the JSON report has them all` : undefined,
  };
}

function skippedTable(groups: readonly ReasonGroup[], namesMax: number): Block {
  const rows = groups.map(({ rule, action, reason, decisions }) => [
    [shownAs('term', rule), shownAs('term', action)],
    marked(`${reasonWords(reason)} (`, shownAs('term', reason), ')'),
    countText(decisions.length),
    groupReasons(
      decisions.slice(0, namesMax).map(({ subject, reasonText }) => ({ who: whoLine(subject), why: reasonText })),
      decisions.length,
      namesMax,
    ),
  ]);
  return { is: 'table', columns: ['Rule and action', 'Reason', number('Count'), 'Who'], rows };
}

const number = (head: string) => ({ head, isNumber: true }) as const;
const ruleCell = (rule: string) => shownAs('term', rule, rulePath(rule));

const FACTS_MAX = 10;

function* unknownSection(report: Report, namesMax: number): Generator<Section> {
  const groups = unknownGroups(report);
  if (groups.length === 0) return;
  const rows = groups.map(({ rule, count, missing, examples }) => [
    ruleCell(rule),
    countText(count),
    capped(
      missing.map((item) => `${item.fact} (${countText(item.count)})`),
      missing.length,
      FACTS_MAX,
    ),
    groupReasons(
      examples.map(({ who, reason }) => ({ who: whoLine(who), why: reason })),
      count,
      namesMax,
    ),
  ]);
  const meaning = 'A fact that a rule needs is missing, too old or of the wrong type.';
  yield {
    title: 'Unknown',
    count: groups.reduce((sum, { count }) => sum + count, 0),
    blocks: [
      words('plain', meaning, 'Unknown verdicts never lead to an action.'),
      { is: 'table', columns: ['Rule', number('Subjects'), 'Missing', 'Examples'], rows },
    ],
  };
}

function* howToSection(report: Report): Generator<Section> {
  const items = howToLines(report).map(({ facts, text }) => {
    const named = joinedLine(
      facts.slice(0, FACTS_MAX).map((fact) => shownAs('term', fact)),
      ', ',
    );
    return marked(named, `${andMore(facts.length - FACTS_MAX)}: ${text}.`);
  });
  if (items.length > 0) yield { title: 'How to get what is missing', blocks: [{ is: 'list', items }] };
}

function* boundsSection(report: Report): Generator<Section> {
  const { rows, left } = boundRows(report);
  if (rows.length === 0) return;
  yield table(
    'Limits and ceilings',
    ['Rule or action', 'Limit', 'Used', 'Share'],
    rows.map(({ name, bound, used, bar, count, allowed }) => [
      shownAs('term', name),
      bound,
      used,
      shownAs({ used: count, allowed }, bar),
    ]),
    left > 0 ? `and ${countText(left)} of which less than half is used` : undefined,
  );
}

function* trendSection(report: Report): Generator<Section> {
  const rows = trendRows(report);
  if (rows.length === 0) return;
  yield table(
    trendHeading(report),
    ['Rule', 'Runs, oldest first', 'Matches'],
    rows.map(({ rule, matches, chart, words: range }) => [
      ruleCell(rule),
      shownAs({ counts: matches, label: `Matches of ${rule}: ${range}` }, chart),
      range,
    ]),
  );
}

function* sourcesSection({ snapshot }: Report): Generator<Section> {
  const rows = Object.entries(snapshot.sources).map(([source, reading]) => {
    const { read, trust, notes } = sourceWords(reading);
    return [shownAs('term', source), read, reading.state === 'read' ? shownAs('state', trust) : trust, notes];
  });
  // What is wrong with one is no detail.
  const isDetail = Object.values(snapshot.sources).every(({ state, trusted }) => state === 'skipped' || trusted);
  if (rows.length > 0) yield { ...table('Sources', ['Source', 'Read', 'Trust', 'Notes'], rows), isDetail };
}

function* rulesSection({ rules }: Report, hasTitles: boolean): Generator<Section> {
  if (rules.length === 0) return;
  const rows = rules.map(({ id, title, mode, judged, ...tally }) => [
    [ruleCell(id), ...(hasTitles ? [title] : [])],
    judged
      ? shownAs('state', mode)
      : marked(shownAs('state', mode), ', not judged: a source it needs could not be read'),
    ...[tally.match, tally.no_match, tally.unknown, tally.error].map(countText),
  ]);
  const heads = ['Match', 'No match', 'Unknown', 'Error'].map(number);
  const section: Section = {
    ...table('Rules', ['Rule', 'Mode', ...heads], rows),
    isDetail: rules.every(({ judged }) => judged),
  };
  const evidence = evidenceLines(rules).map(({ rule, text }) => marked(shownAs('term', rule), `: ${text}`));
  yield evidence.length === 0 ? section : { ...section, blocks: [...section.blocks, { is: 'list', items: evidence }] };
}

function table(
  title: string,
  columns: Extract<Block, { is: 'table' }>['columns'],
  rows: Extract<Block, { is: 'table' }>['rows'],
  left?: string,
): Section {
  return { title, blocks: [{ is: 'table', columns, rows, left }] };
}

function runSection({ run, plan }: Report): Section {
  const took = durationWords(run);
  const fact = (name: string, value: CellLine) => ({ name, value });
  const facts = [
    fact('run', marked(shownAs('term', run.id), ` (${placeWords(run)})`)),
    fact('started by', startedByWords(run)),
    fact('mode', modeLine(run)),
    ...(took === undefined ? [] : [fact('took', took)]),
    fact('status', shownAs('state', run.status)),
    ...(plan.id === null
      ? []
      : [fact('plan', marked(shownAs('term', plan.id, planPath(plan.id)), ` with ${plural(plan.intents, 'action')}`))]),
    ...(run.rulesDir === null ? [] : [fact('rules', shownAs('term', run.rulesDir))]),
  ];
  return { title: 'How the run went', isDetail: run.status === 'completed', blocks: [{ is: 'facts', facts }] };
}
