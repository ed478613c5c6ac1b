// cli: `facts [SUBJECT]`: all facts that rules can read, from the schemas that check the rules, and how often each is
// missing in some records that are read now, and its most frequent values there. In: a kind of subject, or `event`; all by default. Nothing is stored, and
// no database is needed.

import { plainJson } from '../../base/json.ts';
import { didYouMean } from '../../base/nearest-name.ts';
import { clip } from '../../base/text.ts';
import { isoTime } from '../../base/time.ts';
import { AppError } from '../../domain/errors.ts';
import { type Fact, type Facts, isFacts } from '../../domain/facts.ts';
import type { Lists } from '../../domain/lists.ts';
import { EVENT_ACTIONS, EVENT_SEVERITIES, EVENT_SUB_TYPES, EVENT_TYPES } from '../../domain/platform-values.ts';
import { eventWithoutSecrets } from '../../domain/secrets.ts';
import { dropSecrets } from '../../engine/pull/trust-gate.ts';
import type { ManagementClient } from '../../platform/client.ts';
import { FACT_KINDS, type FactKind, type FactRow, factRows } from '../../rules/facts/fact-list.ts';
import { composeClient } from '../../runtime/compose/connection.ts';
import type { Config } from '../../runtime/config/config.ts';
import { listsOf } from '../../runtime/config/reader.ts';
import { systemClock } from '../../runtime/system/clock.ts';
import { showHidden } from '../report/fact-text.ts';
import { md } from '../report/markdown.ts';
import { paragraph, type TerminalOptions, terminalTable } from '../report/terminal-table.ts';
import { configOf, withSettings } from './config-of.ts';
import { namingApi } from './daemon-client.ts';
import { type CommonOptions, type Io, outputOf, widthOf, write } from './io.ts';

// `facts`: the records in which missing facts are counted: at most 1,000 of each kind, read now, without their secrets.

const RECORDS_MAX = 1_000;

/** `none`: why there is none. */
type Sample = { records: Facts[] } | { none: string; isLasting?: boolean };

/** Of every kind. Errors: only those that are not faults of the API. */
async function sampleOf(config: Config, kinds: readonly FactKind[]): Promise<Map<FactKind, Sample>> {
  const client = composeClient(config, systemClock);
  const none = 'TRUSTWARD_API_URL is not set; the embedded console is not started for this';
  if (!client) return new Map(kinds.map((kind) => [kind, { none }]));
  try {
    const samples = new Map<FactKind, Sample>();
    let lasting: string | undefined;
    for (const kind of kinds) {
      const sample: Sample = lasting === undefined ? await readSample(config, client, kind) : { none: lasting };
      if ('none' in sample && sample.isLasting) lasting = sample.none;
      samples.set(kind, sample);
    }
    return samples;
  } finally {
    await client.close();
  }
}

async function readSample(config: Config, client: ManagementClient, kind: FactKind): Promise<Sample> {
  try {
    const records = (await namingApi(config, () => READ[kind](client))).filter(isFacts).slice(0, RECORDS_MAX);
    return { records: records.map((record) => withoutSecrets(kind, record)) };
  } catch (error) {
    if (!(error instanceof AppError) || !/^api_/.test(error.code)) throw error;
    // Without an answer, or with a credential that is refused, the other lists cannot be read either.
    return { none: error.message, isLasting: /^api_(unreachable|refused)$/.test(error.code) };
  }
}

const READ: Record<FactKind, (client: ManagementClient) => Promise<readonly unknown[]>> = {
  device: async (client) => (await client.page('devices', 0, RECORDS_MAX)).records,
  user: async (client) => (await client.page('users', 0, RECORDS_MAX)).records,
  service: firstServices,
  event: (client) => client.events({ order: 'DESC', limit: RECORDS_MAX }),
};

/** Services have no pages: reading ends when there are enough. */
async function firstServices(client: ManagementClient): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const batch of client.stream('services')) {
    found.push(...batch);
    if (found.length >= RECORDS_MAX) break;
  }
  return found;
}

function withoutSecrets(kind: FactKind, record: Facts): Facts {
  if (kind !== 'event') return dropSecrets(record, new Set());
  const { value } = eventWithoutSecrets(record);
  return isFacts(value) ? value : {};
}

// `facts` as text and Markdown.

/** Of the sample: undefined in both when none was to be read. */
interface KindFacts {
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

function factsText(kinds: readonly KindFacts[], options: TerminalOptions): string {
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
      ...(row.found?.length ? [`found: ${foundWords(row)}`] : []),
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
    ...(unpagedOnly ? ['whole list'] : []),
    ...(lists === 'v2' && v2 === null ? ['not in v2'] : []),
  ];
  return more.length > 0 ? `${type} (${more.join(', ')})` : type;
}

export function factsMarkdown(kinds: readonly KindFacts[]): string {
  const sections = kinds.map((kind) => {
    const isListedInV2 = kind.facts.some(({ v2 }) => v2 !== undefined);
    const v2 = isListedInV2 ? ['in v2 lists'] : [];
    const head = ['fact', 'type', 'unit', 'values', 'example', ...v2, ...(isAsked(kind) ? ['missing', 'found'] : [])];
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
  const typed = unpagedOnly ? `${type}; whole list only` : type;
  const named = v2 === null ? '–' : v2 === undefined ? '' : `\`${v2}\``;
  const cells = [
    `\`${fact}\``,
    typed,
    unit,
    values.join(', '),
    shown === '' ? '' : `\`${shown}\``,
    ...(isListedInV2 ? [named] : []),
  ];
  return isSampled ? [...cells, missingWords(missing), md(foundWords(row))] : cells;
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

function foundWords({ found = [] }: FactRow): string {
  return found.map(({ value, count }) => `${showHidden(clip(value, EXAMPLE_LENGTH_MAX))} (${count})`).join(', ');
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

interface FactsOptions extends CommonOptions {
  /** False with `--no-sample`. */
  sample?: boolean;
  /** Of one subject, at an earlier time. */
  at?: string;
}

export async function factsCommand(io: Io, subject: string | undefined, options: FactsOptions): Promise<number> {
  if (options.at !== undefined) {
    const { factsAtCommand } = await import('./as-of.ts');
    return factsAtCommand(io, subject, options.at, options);
  }
  if (subject !== undefined && !isKind(subject)) {
    const hint = didYouMean(subject, FACT_KINDS);
    if (hint !== '')
      throw new AppError('usage', `\`${subject}\` has no facts: expected ${FACT_KINDS.join(', ')}${hint}`);
    const { factsNowCommand } = await import('./as-of.ts');
    return factsNowCommand(io, subject, options);
  }
  const format = outputOf(options, ['text', 'json', 'md'] as const, 'text');
  const kinds = subject === undefined ? FACT_KINDS : [subject];
  const samples = options.sample === false ? undefined : await sampleOf(await configOf(io, options), kinds);
  const lists = listsOf((await withSettings(io, options)).env);
  const facts = kinds.map((kind) => factsOfKind(kind, samples?.get(kind), lists));
  const texts = {
    text: () => factsText(facts, widthOf(options)),
    md: () => factsMarkdown(facts),
    json: () => JSON.stringify(plainJson(facts.map(viewOf)), null, 2),
  };
  write(io, options, texts[format]());
  return 0;
}

function isKind(text: string): text is FactKind {
  return (FACT_KINDS as readonly string[]).includes(text);
}

/** `sample`: undefined when none was to be read. */
export function factsOfKind(kind: FactKind, sample?: Sample, lists: Lists = 'v1'): KindFacts {
  const records = sample && 'records' in sample ? sample.records : undefined;
  const noSample = sample && 'none' in sample ? sample.none : undefined;
  return { kind, sampled: records?.length, noSample, lists, facts: factRows(kind, records) };
}

function viewOf({ kind, sampled, noSample, facts }: KindFacts) {
  const shown = facts.map(({ unit, example, missing, found, ...row }) => ({
    ...row,
    unit: unit ?? null,
    example: example ?? null,
    missing: missing ?? null,
    found: found ?? null,
  }));
  return { kind, sampled: sampled ?? null, noSample: noSample ?? null, facts: shown };
}
