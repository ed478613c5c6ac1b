// commands: `facts` as text and Markdown. In: the facts of some kinds, and what the sample of each was. Out: lines and
// tables. Everything in them is from the schemas and the specification; of records only numbers are shown.
import { plainJson } from '../domain/canonical.ts';
import { clip } from '../domain/clip.ts';
import type { Fact } from '../domain/facts.ts';
import type { Lists } from '../domain/lists.ts';
import { EVENT_ACTIONS, EVENT_SEVERITIES, EVENT_SUB_TYPES, EVENT_TYPES } from '../domain/platform-values.ts';
import { isoTime } from '../domain/time-text.ts';
import type { FactKind, FactRow } from '../evaluate/index.ts';
import { md, paragraph, type TerminalOptions, terminalTable } from '../report/index.ts';

/** Of the sample: undefined in both when none was to be read. */
export interface KindFacts {
  kind: FactKind;
  /** How many records the missing facts were counted in. */
  sampled: number | undefined;
  /** Why there is no sample. */
  noSample: string | undefined;
  /** The lists in use: what they lack is marked. */
  lists: Lists;
  facts: FactRow[];
}

const TITLES: Record<FactKind, string> = {
  device: 'Facts of a device',
  user: 'Facts of a user',
  service: 'Facts of a service',
  event: 'Facts of an event',
};
const EVENT_WORDS = [
  `Types: ${EVENT_TYPES.join(', ')}.`,
  `Sub-types: ${EVENT_SUB_TYPES.join(', ')}.`,
  `Severities, from least to most severe: ${EVENT_SEVERITIES.join(', ')}.`,
];
const ACTIONS_HEAD = ['type', 'sub-type', 'action', 'severity'];
const actionRows = () => EVENT_ACTIONS.map(({ type, subType, action, severity }) => [type, subType, action, severity]);

/** Longer names have a line of their own. */
const NAME_WIDTH_MAX = 44;
const TYPE_WIDTH = 28;
/** A service's spec is one text. */
const EXAMPLE_LENGTH_MAX = 60;

export function factsText(kinds: readonly KindFacts[], options: TerminalOptions): string {
  const sections = kinds.map((kind) => {
    const events = kind.kind === 'event' ? ['', ...EVENT_WORDS.map((line) => paragraph(line, options))] : [];
    const actions = kind.kind === 'event' ? [terminalTable(ACTIONS_HEAD, actionRows(), options)] : [];
    const title = paragraph(`${TITLES[kind.kind]} (${sampleWords(kind)})`, options);
    return [title, ...factLines(kind, options), ...events, ...actions].join('\n');
  });
  return sections.join('\n\n');
}

/** What does not fit beside the type has a line of its own. */
function factLines(kind: KindFacts, { width = 100 }: TerminalOptions): string[] {
  const { facts } = kind;
  const nameWidth = Math.min(Math.max(...facts.map(({ fact }) => fact.length)), NAME_WIDTH_MAX) + 2;
  const missingWidth = Math.max(...facts.map(({ missing }) => missingWords(missing).length)) + 2;
  const indent = ' '.repeat(2 + nameWidth);
  return facts.flatMap((row) => {
    const missing = isAsked(kind) ? missingWords(row.missing).padEnd(missingWidth) : '';
    const example = datedExample(row);
    const type = `${typeText(row, kind.lists).padEnd(TYPE_WIDTH)}  ${missing}`;
    const fits = indent.length + type.length + example.length <= width;
    const words = (fits ? type + example : type).trimEnd();
    const first =
      row.fact.length > nameWidth - 2 ? [`  ${row.fact}`, indent + words] : [`  ${row.fact.padEnd(nameWidth)}${words}`];
    const below = [
      ...(fits || example === '' ? [] : [`such as ${example}`]),
      ...(row.values.length > 2 ? [`known: ${row.values.join(', ')}`] : []),
    ];
    const deep = indent.length > width / 3 ? '      ' : indent;
    const wrapped = below.flatMap((line) => paragraph(line, { width: width - deep.length }).split('\n'));
    return [...first, ...wrapped.map((line) => deep + line)];
  });
}

/** A time is also shown as its date: nobody reads 19 digits. */
function datedExample({ example, unit }: FactRow): string {
  const text = exampleText(example);
  const perMs = unit === undefined ? undefined : PER_MS[unit];
  if (perMs === undefined || !/^\d+$/.test(text)) return text;
  return `${text} (${isoTime(Number(BigInt(text) / perMs)).slice(0, 10)})`;
}

const PER_MS: Readonly<Record<string, bigint>> = { nanoseconds: 1_000_000n, microseconds: 1_000n, milliseconds: 1n };

function typeText({ type, unit, values, unpagedOnly, v2 }: FactRow, lists: Lists): string {
  const more = [
    ...(unit === undefined ? [] : [unit]),
    ...(values.length > 2 ? [] : values),
    ...(unpagedOnly ? ['unpaged'] : []),
    ...(lists === 'v2' && v2 === null ? ['not in v2'] : []),
  ];
  return more.length > 0 ? `${type} (${more.join(', ')})` : type;
}

export function factsMarkdown(kinds: readonly KindFacts[]): string {
  const sections = kinds.map((kind) => {
    const isListedInV2 = kind.facts.some(({ v2 }) => v2 !== undefined);
    const v2 = isListedInV2 ? ['in v2 lists'] : [];
    const head = ['fact', 'type', 'unit', 'values', 'example', ...v2, ...(isAsked(kind) ? ['missing'] : [])];
    const about = isAsked(kind) ? [`Sample: ${md(sampleWords(kind))}.`, ''] : [];
    const events =
      kind.kind === 'event'
        ? ['', ...EVENT_WORDS.flatMap((line) => [line, '']), markdownTable(ACTIONS_HEAD, actionRows())]
        : [];
    const rows = kind.facts.map((row) => markdownCells(row, isAsked(kind), isListedInV2));
    return [`## ${TITLES[kind.kind]}`, '', ...about, markdownTable(head, rows), ...events].join('\n');
  });
  return sections.join('\n\n');
}

function markdownCells(row: FactRow, isSampled: boolean, isListedInV2: boolean): string[] {
  const { fact, type, unit = '', values, example, unpagedOnly, v2, missing } = row;
  const shown = exampleText(example);
  const typed = unpagedOnly ? `${type}; unpaged list` : type;
  const named = v2 === null ? '–' : v2 === undefined ? '' : `\`${v2}\``;
  const cells = [
    `\`${fact}\``,
    typed,
    unit,
    values.join(', '),
    shown === '' ? '' : `\`${shown}\``,
    ...(isListedInV2 ? [named] : []),
  ];
  return isSampled ? [...cells, missingWords(missing)] : cells;
}

function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `|${cells.map((cell) => (cell === '' ? ' |' : ` ${cell} |`)).join('')}`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

const isAsked = ({ sampled, noSample }: KindFacts) => sampled !== undefined || noSample !== undefined;

function exampleText(example: Fact | undefined): string {
  if (example === undefined) return '';
  const text = typeof example === 'object' ? JSON.stringify(plainJson(example)) : String(example);
  return clip(text, EXAMPLE_LENGTH_MAX);
}

function missingWords(missing: FactRow['missing']): string {
  if (missing === undefined) return '–';
  const { count, of } = missing;
  if (count === 0) return '0 %';
  const percent = (100 * count) / of;
  const words = percent < 1 ? 'under 1' : count < of && percent > 99 ? 'over 99' : `${Math.round(percent)}`;
  return `${words} % (${count} of ${of})`;
}

function sampleWords({ sampled, noSample }: KindFacts): string {
  if (sampled !== undefined) return `how often each is missing in ${sampled} records, read now`;
  return noSample === undefined ? 'no records were read' : `no records could be read: ${noSample}`;
}
