// Guards: the files `guards.yaml` and `approvals.yaml` at the top of a folder of rules → what always asks a person, checked. In: texts of files. Out: the guards
// of all folders together, or what is wrong with them.
import { basename, posix } from 'node:path';
import { didYouMean } from '../../base/nearest-name.ts';
import { SELECTOR_FIELDS } from '../../domain/exemption.ts';
import { type Fact, type Facts, isFacts, showLiteral } from '../../domain/facts.ts';
import type { GivenSource } from '../../domain/given-facts.ts';
import { allOf, type Guard, type Guards } from '../../domain/guards.ts';
import { nameKey } from '../../domain/identity.ts';
import type { Transmitter } from '../../domain/signal.ts';
import { isOverlong, KEPT_NAME_BYTES_MAX } from '../../domain/subjects.ts';
import { ownPart } from '../language/expression.ts';
import type { LoadedGuards, LoadedRule } from '../language/loaded-rule.ts';
import { type Place, Problems, type RuleProblem } from '../language/problem.ts';
import { type KnownNames, ownersOf, readApprovals, readOwners } from './approvals-file.ts';
import { isListFile } from './named-lists.ts';
import { readRuleText } from './rule-text.ts';
import { isSignalsFile, meaningOfSignals } from './signals-file.ts';
import { isSourcesFile, meaningOfSources } from './sources-file.ts';

const ASK_MAX = 1_000;
const REASON_CHARS_MAX = 500;
const PER_DAY_MAX = 1_000;
const KEYS = ['ask', 'last_device', 'devices_of_a_person', 'owners'];
const FIELDS = Object.keys(SELECTOR_FIELDS);

/** Wherever it lies: one that is not at the top of a folder is refused, and no rule. */
export function isGuardsFile(file: string): boolean {
  return /^(guards|approvals|sources|signals)\.(ya?ml|json)$/.test(basename(file)) && !isListFile(file);
}

/** Neither guards nor a list, nor the signatures of a stored set. */
export function isRuleFile(file: string): boolean {
  return !isGuardsFile(file) && !isListFile(file) && !/(^|\/)rules\.sig$/.test(file);
}

/** Of a file below the top of its folder. */
function misplaced(file: string): RuleProblem {
  const message =
    'guards, approvals, sources and signals are read at the top of a folder of rules alone: move the file there, or give it another name if it is a rule';
  return { file, line: 1, column: 1, code: 'format', message };
}

/** Where facts and signals come from. */
export interface Elsewhere {
  sources?: readonly GivenSource[];
  transmitters?: readonly Transmitter[];
}

const isOfElsewhere = (file: string) => isSourcesFile(file) || isSignalsFile(file);

/** Undefined without such a file. Never throws. `inFolder`: its path there; of a stored set it was asked before, and its names too. The last: read before the rules. */
export function readGuards(
  files: Iterable<readonly [file: string, text: string | RuleProblem, inFolder?: string]>,
  rules: KnownNames['rules'],
  names?: KnownNames,
  { sources = [], transmitters = [] }: Elsewhere = {},
): {
  guards: LoadedGuards | undefined;
  problems: RuleProblem[];
} {
  const [read, kept, problems]: [Guards[], LoadedGuards['files'], RuleProblem[]] = [[], [], []];
  const owned = new Set<string>();
  for (const [file, text, inFolder] of files) {
    if (inFolder?.includes('/')) problems.push(misplaced(file));
    else if (typeof text !== 'string') problems.push({ ...text, file });
    else if (isOfElsewhere(file)) kept.push({ file, text });
    else {
      const one = readFile(text, file, names, owned);
      problems.push(...one.problems);
      read.push(one.guards);
      kept.push({ file, text });
    }
  }
  if (kept.length === 0) return { guards: undefined, problems };
  const { approvals, ...guards } = allOf(read);
  const owners = approvals?.owners && { owners: ownersOf(approvals.owners, rules) };
  const more = {
    ...(approvals && { approvals: { ...approvals, ...owners } }),
    ...(sources.length > 0 && { sources }),
    ...(transmitters.length > 0 && { transmitters }),
  };
  return { guards: { ...guards, ...more, files: kept }, problems };
}

/** Every rule of a set has its guards, so that whoever has rules has them. */
export function guardedBy(rules: LoadedRule[], guards: LoadedGuards | undefined): LoadedRule[] {
  return guards ? rules.map((rule) => ({ ...rule, guards })) : rules;
}

/** The texts of a set's files, by their paths: what a stored set is read from again. */
export function filesOf(rules: readonly LoadedRule[]): Map<string, string> {
  const files = rules.flatMap(({ file, text, lists, guards }) => [{ file, text }, ...lists, ...(guards?.files ?? [])]);
  return new Map(files.map(({ file, text }) => [file, text]));
}

/** For the hash of a set: what decides, and the reasons that people read. A set without guards has the hash that it had before there were any. */
export function meaningOf(guards: LoadedGuards | undefined): Fact[] {
  if (!guards) return [];
  const elsewhere = [...meaningOfSources(guards.sources ?? []), ...meaningOfSignals(guards.transmitters ?? [])];
  if (guards.files.every(({ file }) => isOfElsewhere(file))) return elsewhere;
  const asked = guards.ask.map(({ selector: { field, value }, reason }) => [field, value, reason ?? null]);
  const { approvals } = guards;
  const people = approvals ? [{ approvals: JSON.stringify(approvals) }] : [];
  return [{ guards: [asked, guards.lastDevice, guards.perDay ?? null] }, ...people, ...elsewhere];
}

const NONE: Guards = { ask: [], lastDevice: false, perDay: undefined };

function readFile(
  text: string,
  file: string,
  names: KnownNames | undefined,
  owned: Set<string>,
): { guards: Guards; problems: RuleProblem[] } {
  const read = readRuleText(text, file.endsWith('.json'), 'set of guards');
  if ('faults' in read) return { guards: NONE, problems: read.faults.map((fault) => ({ file, ...fault })) };
  const problems = new Problems(file, read.positionOf);
  const { value } = read;
  // A file of comments alone asks nobody.
  if (value === null) return { guards: NONE, problems: [] };
  if (basename(file).startsWith('approvals.'))
    return { guards: { ...NONE, approvals: readApprovals(value, names, problems) }, problems: problems.list };
  if (!isFacts(value)) {
    problems.add('format', [], `expected guards: an object with ${KEYS.map((key) => `\`${key}\``).join(', ')}`);
    return { guards: NONE, problems: problems.list };
  }
  refuseOthers(value, [], KEYS, problems);
  const written = ownPart(value, 'owners');
  const where = { top: posix.dirname(file), earlier: owned, known: names };
  const owners = written === undefined ? undefined : readOwners(written, where, problems);
  const guards = {
    ...(owners && { approvals: { approvals: [], tokens: [], owners } }),
    ask: askOf(value, problems),
    lastDevice: lastDeviceOf(value, problems),
    perDay: perDayOf(value, problems),
  };
  return { guards, problems: problems.list };
}

function refuseOthers(value: Facts, place: Place, known: readonly string[], problems: Problems): void {
  for (const key of Object.keys(value))
    if (!known.includes(key))
      problems.add(
        'format',
        [...place, key],
        `there is no \`${key}\` in guards${place.length > 0 ? ' here' : ''}${didYouMean(key, known)}`,
      );
}

function askOf(value: Facts, problems: Problems): Guard[] {
  const ask = ownPart(value, 'ask');
  if (ask === undefined) return [];
  if (!Array.isArray(ask)) {
    problems.add(
      'format',
      ['ask'],
      `\`ask\`: expected a list, such as \`- Email: ceo@example.com\`, found \`${showLiteral(ask)}\``,
    );
    return [];
  }
  if (ask.length > ASK_MAX) {
    problems.add(
      'too_large',
      ['ask'],
      `\`ask\`: at most ${ASK_MAX} entries, found ${ask.length}; ask about a group instead`,
    );
    return [];
  }
  const known = new Map<string, number>();
  return ask.flatMap((entry, at) => {
    const guard = guardOf(entry, at, problems);
    if (!guard) return [];
    const key = `${guard.selector.field} ${nameKey(guard.selector.value)}`;
    const before = known.get(key);
    if (before !== undefined)
      problems.add('value', ['ask', at], `\`ask[${at}]\` is about the same as \`ask[${before}]\``);
    known.set(key, at);
    return [guard];
  });
}

function guardOf(entry: Fact, at: number, problems: Problems): Guard | undefined {
  const place = ['ask', at];
  if (!isFacts(entry)) {
    problems.add(
      'format',
      place,
      `\`ask[${at}]\`: expected a field and its value, such as \`Email: ceo@example.com\`, found \`${showLiteral(entry)}\``,
    );
    return undefined;
  }
  const known = problems.list.length;
  refuseOthers(entry, place, [...FIELDS, 'reason'], problems);
  const named = Object.keys(entry).filter((key) => FIELDS.includes(key));
  if (named.length !== 1 && problems.list.length === known) {
    const found = named.length === 0 ? 'there is none' : `found ${named.join(' and ')}: write an entry for each`;
    problems.add('format', place, `\`ask[${at}]\`: expected one of ${FIELDS.join(', ')}; ${found}`);
  }
  const [field] = named;
  const reason = reasonOf(entry, at, problems);
  const value = field === undefined ? undefined : selectedOf(entry[field] as Fact, [...place, field], problems);
  if (field === undefined || value === undefined || problems.list.length > known) return undefined;
  return { selector: { kind: SELECTOR_FIELDS[field] as Guard['selector']['kind'], field, value }, reason };
}

function selectedOf(value: Fact, place: Place, problems: Problems): string | undefined {
  const name = `\`ask[${place[1]}].${place[2]}\``;
  if (typeof value !== 'string') {
    const quotes = typeof value === 'number' || typeof value === 'bigint' ? '; a text of digits stands in quotes' : '';
    problems.add('type', place, `${name}: expected a text, found \`${showLiteral(value)}\`${quotes}`);
  } else if (value.trim() === '') problems.add('value', place, `${name} is empty`);
  else if (value.trim() !== value) problems.add('value', place, `${name} begins or ends with a space`);
  else if (isOverlong(value)) problems.add('value', place, `${name} is longer than ${KEPT_NAME_BYTES_MAX} bytes`);
  else return value;
  return undefined;
}

function reasonOf(entry: Facts, at: number, problems: Problems): string | undefined {
  const reason = ownPart(entry, 'reason');
  if (reason === undefined) return undefined;
  if (typeof reason === 'string' && reason.trim() !== '' && reason.length <= REASON_CHARS_MAX) return reason.trim();
  const found =
    typeof reason === 'string' && reason.length > REASON_CHARS_MAX
      ? `${reason.length} characters`
      : `\`${showLiteral(reason)}\``;
  problems.add(
    'format',
    ['ask', at, 'reason'],
    `\`ask[${at}].reason\`: expected a text of up to ${REASON_CHARS_MAX} characters, found ${found}`,
  );
  return undefined;
}

function lastDeviceOf(value: Facts, problems: Problems): boolean {
  const written = ownPart(value, 'last_device');
  if (written === undefined || written === 'allow') return false;
  if (written === 'ask') return true;
  const hint = typeof written === 'string' ? didYouMean(written, ['ask', 'allow']) : '';
  problems.add(
    'format',
    ['last_device'],
    `\`last_device\`: expected one of ask, allow, found \`${showLiteral(written)}\`${hint}`,
  );
  return false;
}

function perDayOf(value: Facts, problems: Problems): number | undefined {
  const written = ownPart(value, 'devices_of_a_person');
  if (written === undefined) return undefined;
  const place = ['devices_of_a_person'];
  if (!isFacts(written)) {
    problems.add(
      'format',
      place,
      `\`devices_of_a_person\`: expected an object, such as \`{ per_day: 2 }\`, found \`${showLiteral(written)}\``,
    );
    return undefined;
  }
  refuseOthers(written, place, ['per_day'], problems);
  const perDay = ownPart(written, 'per_day');
  if (typeof perDay === 'number' && Number.isInteger(perDay) && perDay >= 1 && perDay <= PER_DAY_MAX) return perDay;
  const found = perDay === undefined ? '; it is missing' : `, found \`${showLiteral(perDay)}\``;
  problems.add(
    'format',
    perDay === undefined ? place : [...place, 'per_day'],
    `\`devices_of_a_person.per_day\`: expected a whole number from 1 to ${PER_DAY_MAX}${found}`,
  );
  return undefined;
}
