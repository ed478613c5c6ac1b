// rules: a rule file's value → a loaded rule, every part of it checked. In: the value, where its parts stand, the actions' traits.
// Out: the rule, or all of its problems.
import { z } from 'zod';
import { didYouMean } from '../../base/nearest-name.ts';
import { parseDuration } from '../../base/time.ts';
import type { ActionTraits } from '../../domain/action.ts';
import { parseAllowed } from '../../domain/change-window.ts';
import { digestOf } from '../../domain/digest.ts';
import { AppError } from '../../domain/errors.ts';
import { type Fact, type Facts, isFacts } from '../../domain/facts.ts';
import type { GivenSource } from '../../domain/given-facts.ts';
import type { Lists } from '../../domain/lists.ts';
import type { ActionOfRule, Rule } from '../../domain/rule.ts';
import { SOURCE_OF, type Source, SUBJECT_KINDS, type SubjectKind } from '../../domain/subjects.ts';
import type { PortableRules } from '../../domain/verdict.ts';
import { checkRollout, readActions, shareOf } from '../check/actions.ts';
import { checkCondition, checkConstants, type Language, measure, type Scope } from '../check/scope.ts';
import { type Expression, type Freshness, GIVEN, ownPart, walk } from '../language/expression.ts';
import { type LoadedRule, meaningOfRule, type NamedList, noReads, type Reads } from '../language/loaded-rule.ts';
import { byPosition, Problems, type RuleProblem } from '../language/problem.ts';
import { LANGUAGE } from '../operators/operators.ts';
import {
  BOOLEAN,
  type Field,
  FLAG,
  fieldAt,
  givenType,
  listOf,
  NUMBER,
  pathsOf,
  recordOf,
  recordType,
  SCORE,
  TEXT,
  typeName,
  type ValueType,
} from '../record-types/field-types.ts';
import type { KnownTransmitter } from '../record-types/signal-types.ts';
import { reportFormat } from './format-problems.ts';
import { guardedBy, isGuardsFile, isRuleFile, meaningOf, readGuards } from './guards-file.ts';
import { isListFile, type NamedLists, readLists } from './named-lists.ts';
import { checkTests, readTests } from './read-tests.ts';
import {
  listRuleFiles,
  RULE_FORMAT_VERSION,
  type RuleFile,
  readRuleFile,
  readRuleText,
  ruleSchema,
} from './rule-text.ts';
import { readSignals } from './signals-file.ts';
import type { TextRead } from './signatures.ts';
import { readSources } from './sources-file.ts';

// Fields that a rule declares, added to its subject's schema (or to the event's, under `event.`).

const TYPES: Record<RuleFile['declares'][string], ValueType> = {
  text: TEXT,
  version: { kind: 'text', style: 'version' },
  flag: FLAG,
  boolean: BOOLEAN,
  number: NUMBER,
  score: SCORE,
  time: { kind: 'time', unit: 'any' },
  time_ns: { kind: 'time', unit: 'ns' },
  time_ms: { kind: 'time', unit: 'ms' },
  time_s: { kind: 'time', unit: 's' },
  texts: listOf(TEXT),
  numbers: listOf(NUMBER),
};

function declareFields(
  subject: SubjectKind,
  declares: RuleFile['declares'],
  problems: Problems,
): { root: ValueType; eventRoot: ValueType } {
  let root: ValueType = recordType(subject);
  let eventRoot: ValueType = recordType('event');
  for (const [path, name] of Object.entries(declares)) {
    const ofEvent = path.startsWith('event.');
    const segments = (ofEvent ? path.slice('event.'.length) : path).split('.');
    if (segments.some((segment) => segment === '') || segments[0]?.startsWith('$') || segments.length > 8) {
      problems.add(
        'path',
        ['declares', path],
        `\`${path}\` is no path of a field; write it as \`Name\` or \`Part.Name\``,
      );
      continue;
    }
    const type = TYPES[name];
    const known = fieldAt(ofEvent ? eventRoot : root, segments);
    if (known && known.type.kind !== 'any' && known.type.kind !== type.kind) {
      problems.add('type', ['declares', path], `\`${path}\` is known already, as ${typeName(known.type)}`);
    } else if (!known || hasKnownValues(known.type)) {
      const widened = widen(ofEvent ? eventRoot : root, segments, type);
      if (!widened)
        problems.add('path', ['declares', path], `\`${path}\` cannot be declared: a part of it is no record`);
      else if (ofEvent) eventRoot = widened;
      else root = widened;
    }
  }
  return { root, eventRoot };
}

/** Declaring such a field means that the server has other values for it. */
function hasKnownValues(type: ValueType): boolean {
  return type.kind === 'text' && type.values !== undefined;
}

/** The schema with one field added or changed; undefined when a part of the path is not a record. */
function widen(type: ValueType, segments: readonly string[], leaf: ValueType): ValueType | undefined {
  const [first, ...rest] = segments;
  if (first === undefined) return leaf;
  if (type.kind !== 'record') return undefined;
  const before = type.fields.get(first);
  const inner = widen(before?.type ?? { kind: 'record', fields: new Map() }, rest, leaf);
  if (!inner) return undefined;
  const field: Field = { ...before, type: inner };
  return { kind: 'record', fields: new Map([...type.fields, [first, field]]) };
}

// A rule's condition, with its freshness timestamps and the fields it declares → a typed condition.

/** Checks a rule's `when` with its `fresh` and `declares`, and fills `reads`. Undefined when there are problems. */
function readWhen(
  value: Facts,
  subject: SubjectKind,
  { language, lists, transmitters, given }: Pick<Scope, 'language' | 'lists' | 'transmitters' | 'given'>,
  reads: Reads,
  problems: Problems,
): Expression | undefined {
  const when = ownPart(value, 'when');
  if (when === undefined) {
    problems.add('format', [], '`when` is missing; expected a condition in JSON Logic');
    return undefined;
  }
  const tooMuch = measure(when);
  if (tooMuch) {
    problems.add(tooMuch.code, ['when'], tooMuch.message);
    return undefined;
  }
  const declares = declaresOf(value);
  const { root, eventRoot } = declareFields(subject, declares, problems);
  const fresh = readFresh(ownPart(value, 'fresh'), withGiven(root, given), problems);
  const before = problems.list.length;
  const scope: Scope = {
    language,
    eventRoot,
    subject,
    root,
    item: undefined,
    itemSource: undefined,
    fresh,
    lists,
    transmitters,
    given,
    reads,
    problem: (code, place, message) => problems.add(code, place, message),
  };
  let condition = checkCondition(when, ['when'], scope);
  if (problems.list.length > before) return undefined;
  // A timestamp covers the facts beside it. Where the rule reads none of these, it covers the whole record.
  if (fresh.some((each) => !each.used)) {
    for (const each of fresh) if (!each.used && each.freshness.path[0] !== GIVEN) each.parent = [];
    condition = checkCondition(when, ['when'], scope);
    fresh.forEach(({ freshness, used }) => {
      if (!used)
        problems.add(
          'fresh',
          ['fresh', freshness.label],
          freshness.path[0] === GIVEN
            ? `\`${freshness.label}\` has no effect: \`when\` reads no fact beside it`
            : `\`${freshness.label}\` has no effect: \`when\` reads no fact of the record`,
        );
    });
  }
  if (!readsSomething(condition)) {
    problems.add('format', ['when'], '`when` reads no fact, so it would be the same for every subject');
  } else checkConstants(condition, (place, message) => problems.add('value', place, message));
  return problems.list.length > before ? undefined : condition;
}

/** With the facts from elsewhere that `fresh` and tests may name. */
function withGiven(root: ValueType, given: Scope['given']): ValueType {
  if (root.kind !== 'record' || given.size === 0) return root;
  const types = recordOf(Object.fromEntries([...given].map(([name, one]) => [name, givenType(one)])));
  return { kind: 'record', fields: new Map([...root.fields, [GIVEN, { type: types }]]) };
}

function givenOf(sources: readonly GivenSource[]): Scope['given'] {
  return new Map(sources.map((one) => [one.name, one]));
}

/** A condition that reads nothing is the same for every subject. */
function readsSomething(condition: Expression): boolean {
  let reads = false;
  walk(condition, (part) => {
    if (part.op === 'fact' || (part.op === 'call' && part.operator.looksIn)) reads = true;
  });
  return reads;
}

function declaresOf(value: Facts): RuleFile['declares'] {
  const parsed = ruleSchema.shape.declares.safeParse(ownPart(value, 'declares'));
  return parsed.success ? parsed.data : {};
}

function readFresh(
  raw: Fact | undefined,
  root: ValueType,
  problems: Problems,
): { freshness: Freshness; parent: string[]; used: boolean }[] {
  if (!isFacts(raw)) return [];
  return Object.entries(raw).flatMap(([path, written]) => {
    const ms = typeof written === 'string' ? parseDuration(written) : undefined;
    const segments = path.split('.');
    const field = fieldAt(root, segments);
    if (!field)
      problems.add('path', ['fresh', path], `there is no field \`${path}\`${didYouMean(path, pathsOf(root))}`);
    else if (field.type.kind !== 'time') {
      problems.add(
        'fresh',
        ['fresh', path],
        `\`fresh\` takes timestamps, but \`${path}\` is ${typeName(field.type)}${timestampHint(root, segments)}`,
      );
    } else if (ms !== undefined)
      return [{ freshness: { path: segments, label: path, ms }, parent: segments.slice(0, -1), used: false }];
    return [];
  });
}

function timestampHint(root: ValueType, segments: readonly string[]): string {
  const parent = segments.slice(0, -1);
  const beside = pathsOf(root).find(
    (path) =>
      path.split('.').slice(0, -1).join('.') === parent.join('.') &&
      fieldAt(root, path.split('.'))?.type.kind === 'time',
  );
  return beside ? `; did you mean \`${beside}\`?` : '';
}

// Which sources a rule needs.

function sourcesOf(subject: SubjectKind, reads: Reads, targets: readonly Source[]): Source[] {
  const sources = new Set<Source>([SOURCE_OF[subject], ...targets]);
  if (reads.owners) sources.add('users');
  if (reads.joinedDevices) sources.add('devices');
  if (reads.events) sources.add('events');
  return [...sources];
}

/** By kind: a part of the record and the platform's time of it; the empty part is the whole record. */
const PLATFORM_TIMES: Record<SubjectKind, readonly (readonly [part: string, time: string])[]> = {
  device: [
    ['MdmData', 'MdmData.Timestamp'],
    ['TrustData', 'TrustData.UpdatedAt'],
  ],
  user: [['TrustData', 'TrustData.UpdatedAt']],
  service: [['', 'LastUpdatedAt']],
};

/**
 * The times that date what a rule reads: those of `fresh`, or else the platform's own of the parts of the record that it reads. What it reads
 * beyond the record, or only looks back on, has none.
 */
function reportTimesOf({ fresh, subject }: Pick<RuleFile, 'fresh' | 'subject'>, reads: Reads): string[] {
  // What is known from elsewhere does not date what the platform reports.
  const named = Object.keys(fresh).filter((path) => !path.startsWith(GIVEN));
  if (named.length > 0) return named;
  const read = [...reads.places.keys()].filter((path) => path !== '$now' && !reads.lookBack.has(path));
  return PLATFORM_TIMES[subject].flatMap(([part, time]) =>
    read.some((path) => part === '' || path === part || path.startsWith(`${part}.`)) ? [time] : [],
  );
}

interface ReadOptions {
  traits: ReadonlyMap<string, ActionTraits>;
  /** The operators that conditions can use; the shipped ones by default. */
  language?: Language;
  /** The lists that conditions can read; none by default. */
  lists?: NamedLists;
  /** The sources of facts from elsewhere that they can read; none by default. */
  sources?: readonly GivenSource[];
  /** The transmitters whose signals conditions can count; none by default. */
  transmitters?: readonly KnownTransmitter[];
}

/** The rule, or undefined when there are problems. */
function readRule(
  value: Fact,
  text: string,
  file: string,
  lineOf: (test: number) => number,
  options: ReadOptions,
  problems: Problems,
): LoadedRule | undefined {
  if (!isFacts(value)) {
    problems.add('format', [], 'expected a rule: an object with `id`, `subject`, `when` and `then`');
    return undefined;
  }
  const parsed = ruleSchema.safeParse(value);
  if (!parsed.success) reportFormat(parsed.error.issues, value, problems);
  const subject = SUBJECT_KINDS.find((kind) => kind === own(value, 'subject'));
  if (!subject) return undefined;
  const reads = noReads();
  const { language = LANGUAGE, lists = NO_LISTS, sources = [] } = options;
  const transmitters = sendersOf(options.transmitters ?? []);
  const known = { language, lists, transmitters, given: givenOf(sources) };
  const condition = readWhen(value, subject, known, reads, problems);
  const { proposals, targets } = readActions(own(value, 'then'), subject, reads, options.traits, problems);
  if (parsed.success) {
    const declared = declareFields(subject, parsed.data.declares, new Problems('', () => ({ line: 1, column: 1 })));
    checkTests(parsed.data, subject, { ...declared, transmitters, sources }, reads.lookBack, problems);
  }
  for (const fault of allowedOf(parsed.data?.when_allowed ?? []).faults)
    problems.add('value', ['when_allowed'], `\`when_allowed\`: ${fault}`);
  if (parsed.success) refuseNotice(parsed.data, proposals, options.traits, problems);
  if (parsed.data?.rollout) checkRollout(parsed.data.rollout, proposals, options.traits, problems);
  if (!parsed.success || !condition || problems.list.length > 0) return undefined;
  const used = [...reads.lists].sort().flatMap((name) => lists.get(name) ?? []);
  const senders = [...reads.signals].sort().flatMap((name) => transmitters.get(name) ?? []);
  const named = new Set([...reads.given].map((path) => path.split('.')[0]));
  const parts = {
    proposals,
    condition,
    reads,
    lists: used,
    transmitters: senders,
    given: sources.filter(({ name }) => named.has(name)),
    targets,
    tests: readTests(parsed.data, lineOf),
  };
  return { ...assemble(parsed.data, value, file, parts), text };
}

const NO_LISTS: NamedLists = new Map();

const sendersOf = (all: readonly KnownTransmitter[]) =>
  new Map(all.map(({ name, events, heartbeatMs, members }) => [name, { name, events, heartbeatMs, members }]));

const own = (value: Facts, key: string): Fact | undefined => (Object.hasOwn(value, key) ? value[key] : undefined);

function assemble(
  data: RuleFile,
  raw: Facts,
  file: string,
  parts: Pick<LoadedRule, 'condition' | 'reads' | 'lists' | 'transmitters' | 'given' | 'targets' | 'tests'> & {
    proposals: ActionOfRule[];
  },
): Omit<LoadedRule, 'text'> {
  const { proposals, condition, reads, lists, transmitters, given, targets, tests } = parts;
  return {
    id: data.id,
    title: data.title ?? data.id,
    severity: data.severity,
    subject: data.subject,
    when: own(raw, 'when') as Fact,
    then: proposals,
    mode: data.mode,
    forMs: parseDuration(data.for) ?? 0,
    clearForMs: parseDuration(data.clear_for) ?? 0,
    cooldownMs: parseDuration(data.cooldown) ?? 0,
    whenAllowed: data.when_allowed === undefined ? undefined : allowedOf(data.when_allowed).windows,
    ...noticeOf(data, proposals),
    rollout: rolloutOf(data, raw, proposals),
    revert: data.revert,
    reportTimes: data.revert ? reportTimesOf(data, reads) : [],
    limits: limitsOf(data),
    owners: data.owners,
    watch: data.watch,
    hash: digestOf(meaningOfRule({ raw, lists, given })),
    file,
    sources: sourcesOf(data.subject, reads, targets),
    compared: reads.compared,
    condition,
    reads,
    lists,
    transmitters,
    given,
    targets,
    tests,
    raw,
  };
}

function allowedOf(written: string | string[]): ReturnType<typeof parseAllowed> {
  return parseAllowed(typeof written === 'string' ? [written] : written);
}

/** What it matches and does is what a rollout tries out: its lists, limits and title are not part of that. */
function rolloutOf({ subject, rollout, fresh, declares }: RuleFile, raw: Facts, then: ActionOfRule[]): Rule['rollout'] {
  if (!rollout) return undefined;
  const meaning = digestOf({ subject, when: own(raw, 'when'), then, fresh, declares });
  return {
    steps: rollout.steps.map(shareOf),
    eachMs: parseDuration(rollout.each) ?? 0,
    brake: rollout.brake,
    meaning,
  };
}

function limitsOf({ limits: { max, percent, per_day: perDay } }: RuleFile): LoadedRule['limits'] {
  return { max, percent, ...(perDay !== undefined && { perDay }) };
}

const BEFORE_MIN_MS = 300_000;
const BEFORE_MAX_MS = 30 * 86_400_000;

/** A deadline that nobody could keep, one that comes before its own reminder, and a warning of what takes nothing from anybody. */
function refuseNotice(
  { notice, fix }: RuleFile,
  proposals: readonly ActionOfRule[],
  traits: ReadOptions['traits'],
  problems: Problems,
): void {
  const taking = proposals.some(({ action }) => traits.get(action)?.takesDevice);
  for (const [word, given] of [['notice', notice] as const, ['fix', fix] as const])
    if (given && proposals.length > 0 && !taking)
      problems.add('value', [word], `\`${word}\` is for rules that take something from people, such as a ban`);
  if (fix?.url !== undefined && !(URL.canParse(fix.url) && new URL(fix.url).protocol === 'https:'))
    problems.add(
      'value',
      ['fix', 'url'],
      `\`fix.url\`: expected an address that begins with https://, found \`${fix.url}\``,
    );
  if (!notice) return;
  const beforeMs = parseDuration(notice.before) ?? 0;
  if (beforeMs < BEFORE_MIN_MS || beforeMs > BEFORE_MAX_MS)
    problems.add('value', ['notice', 'before'], `\`notice.before\`: expected 5m to 30d, found \`${notice.before}\``);
  notice.remind.forEach((written, index) => {
    const ms = parseDuration(written) ?? 0;
    const than = index === 0 ? notice.before : (notice.remind[index - 1] as string);
    if (ms > 0 && ms < (parseDuration(than) ?? 0)) return;
    const what = `\`notice.remind[${index}]\`: expected less than \`${than}\`, and more than 0, found \`${written}\``;
    problems.add('value', ['notice', 'remind', index], what);
  });
}

function noticeOf({ notice, fix }: RuleFile, then: readonly ActionOfRule[]): Pick<Rule, 'notice' | 'fix'> {
  const ms = (text: string) => parseDuration(text) ?? 0;
  const read = notice && { beforeMs: ms(notice.before), remindMs: notice.remind.map(ms), to: notice.to };
  return {
    ...(read && { notice: { ...read, print: digestOf([read, then]) } }),
    ...(fix && { fix: { problem: fix.problem, text: fix.text, url: fix.url } }),
  };
}

/** The rule with another `when` or `fresh`; undefined when the result fails its checks. */
export function withChanges(
  rule: Omit<LoadedRule, 'condition' | 'reads'>,
  changes: Facts,
  language: Language,
): LoadedRule | undefined {
  const raw = { ...rule.raw, ...changes };
  const problems = new Problems(rule.file, () => ({ line: 1, column: 1 }));
  const reads = noReads();
  const lists = new Map(rule.lists.map((list) => [list.name, list]));
  const known = { language, lists, transmitters: sendersOf(rule.transmitters), given: givenOf(rule.given) };
  const condition = readWhen(raw, rule.subject, known, reads, problems);
  if (!condition || problems.list.length > 0) return undefined;
  return {
    ...rule,
    when: raw.when as Fact,
    raw,
    condition,
    reads,
    sources: sourcesOf(rule.subject, reads, rule.targets),
  };
}

type PlainRule = Omit<LoadedRule, 'condition' | 'reads'>;

export function portableRules(rules: readonly LoadedRule[], lists: Lists): PortableRules {
  return {
    lists,
    rules: rules.map(
      ({ condition: _, reads: __, guards: ___, ...plain }): PlainRule => ({ ...plain, tests: [], text: '' }),
    ),
  };
}

export function rulesOf({ rules }: Pick<PortableRules, 'rules'>): LoadedRule[] {
  return (rules as PlainRule[]).map((plain) => {
    const rule = withChanges(plain, {}, LANGUAGE);
    if (!rule) throw new AppError('internal', `rule \`${plain.id}\` cannot be read in another thread`);
    return rule;
  });
}

/** The JSON Schema of a rule file, for editors (draft 2020-12). */
export function rulesJsonSchema(): object {
  const schema = z.toJSONSchema(ruleSchema, { io: 'input', target: 'draft-2020-12' }) as {
    properties?: Record<string, unknown>;
  };
  const names = [...LANGUAGE.keys()];
  const condition = {
    description: 'JSON Logic over the record: the problem, not the state that the action sets',
    anyOf: [
      { type: ['string', 'number', 'boolean'] },
      { type: 'array', items: { $ref: '#/$defs/condition' } },
      { $ref: '#/$defs/operation' },
    ],
  };
  const operation = { type: 'object', minProperties: 1, maxProperties: 1, propertyNames: { enum: names } };
  return {
    ...schema,
    $id: `urn:trustward:rule:${RULE_FORMAT_VERSION}`,
    title: 'Trustward rule',
    properties: { ...schema.properties, when: { $ref: '#/$defs/condition' } },
    $defs: { condition, operation },
  };
}

// A folder of rules, or several → loaded rules, and every problem of every file.
// In: folders and the actions' traits. Out: rules in the order of their ids; a broken file never hides the others.

interface RuleSetLoad {
  rules: LoadedRule[];
  problems: RuleProblem[];
  /** SHA-256 over the rules' ids and hashes, and the guards if there are any: equal sets, equal hash. */
  hash: string;
  /** All that the folders have, by their names. */
  lists: NamedLists;
  /** Every text, as it was read, with the folder that it is of. */
  read: (TextRead & { dir: string })[];
}

/** One of several folders whose rules make one set. */
export interface RuleFolder {
  dir: string;
  /** Before the names of its files, so that they differ from those of another folder; empty where there is one. */
  label: string;
}

/** Rules as they were read before, for a process that loads equal files again and again: reading a text costs more than all else of a rule. */
export class KnownRules {
  private readonly rules = new Map<string, LoadedRule>();
  readonly lists = new Map<string, NamedList>();

  /** Another name, text, set of actions or list that it reads is another rule. */
  of(text: string, file: string, options: ReadOptions): ReturnType<typeof parseRule> {
    const key = JSON.stringify([
      [...options.traits.keys()],
      options.sources ?? [],
      options.transmitters ?? [],
      file,
      text,
    ]);
    const known = this.rules.get(key);
    if (known?.lists.every((list) => isSameFile(options.lists?.get(list.name), list))) return { rule: known };
    const parsed = parseRule(text, file, options);
    if ('problems' in parsed) return parsed;
    const [oldest] = this.rules.keys();
    if (this.rules.size >= KNOWN_MAX && !known) this.rules.delete(oldest as string);
    this.rules.set(key, parsed.rule);
    return parsed;
  }
}

const KNOWN_MAX = 5_000;

function isSameFile(one: NamedList | undefined, other: NamedList): boolean {
  return one?.file === other.file && one.text === other.text;
}

/**
 * Loads every `.yaml`, `.yml` and `.json` file under each folder, sub-folders included; its `examples`, and names that begin
 * with a dot, are ignored; those in a folder `lists` are no rules, but lists that all of them can read, `guards` and `approvals` at the top are what asks
 * people, and `sources` is where facts from elsewhere come from. An empty folder gives no rules and no problems. A missing folder throws; so does `signal`, between two files.
 */
export async function loadRules(
  from: string | readonly RuleFolder[],
  options: ReadOptions & { known?: KnownRules | undefined },
  signal: AbortSignal | undefined = undefined,
): Promise<RuleSetLoad> {
  const [rules, problems, folders]: [LoadedRule[], RuleProblem[], (RuleFolder & { files: string[] })[]] = [[], [], []];
  for (const folder of typeof from === 'string' ? [{ dir: from, label: '' }] : from) {
    const found = await listRuleFiles(folder.dir);
    problems.push(...found.problems.map((problem) => ({ ...problem, file: `${folder.label}${problem.file}` })));
    folders.push({ ...folder, files: found.files });
  }
  const read: RuleSetLoad['read'] = [];
  const texts = async (isWanted: (file: string) => boolean, what: string) => {
    const found: (readonly [file: string, text: string | RuleProblem, name: string])[] = [];
    for (const { dir, label, files } of folders) {
      for (const name of files.filter((one) => isWanted(`${label}${one}`))) {
        signal?.throwIfAborted();
        const text = await readRuleFile(dir, name, what);
        if (typeof text === 'string') read.push({ dir, name, text });
        found.push([`${label}${name}`, text, name]);
      }
    }
    return found;
  };
  const { lists, problems: ofLists } = readLists(await texts(isListFile, 'list'), options.known?.lists);
  problems.push(...ofLists);
  const ofSet = await texts(isGuardsFile, 'file of guards');
  const { sources, problems: ofSources } = readSources(ofSet);
  const { transmitters, problems: ofSignals } = readSignals(ofSet);
  problems.push(...ofSources, ...ofSignals);
  const withLists = { ...options, lists, sources, transmitters };
  for (const [file, text] of await texts(isRuleFile, 'rule')) {
    const parsed =
      typeof text === 'string'
        ? (options.known?.of(text, file, withLists) ?? parseRule(text, file, withLists))
        : { problems: [{ ...text, file }] };
    if ('problems' in parsed) problems.push(...parsed.problems);
    else {
      const same = rules.find((rule) => rule.id === parsed.rule.id);
      if (same) problems.push(duplicate(parsed.rule, same, parsed.rule.text));
      else rules.push(parsed.rule);
    }
  }
  rules.sort((a, b) => (a.id < b.id ? -1 : 1));
  const set = problems.length === 0 ? { rules, actions: options.traits } : undefined;
  const { guards, problems: ofGuards } = readGuards(ofSet, rules, set, { sources, transmitters });
  const hash = digestOf([...rules.map(({ id, hash }) => [id, hash]), ...meaningOf(guards)]);
  return { rules: guardedBy(rules, guards), problems: [...problems, ...ofGuards].sort(byPosition), hash, lists, read };
}

/** The rules among the files of a stored set, read again with its lists and guards. */
export function parseRuleSet(
  files: ReadonlyMap<string, string>,
  options: ReadOptions,
): { rules: LoadedRule[]; problems: RuleProblem[] } {
  const those = (isOne: (file: string) => boolean) => [...files].filter(([file]) => isOne(file));
  const { lists, problems } = readLists(those(isListFile));
  const ofSet = those(isGuardsFile);
  const { sources, problems: ofSources } = readSources(ofSet);
  const { transmitters, problems: ofSignals } = readSignals(ofSet);
  problems.push(...ofSources, ...ofSignals);
  const rules: LoadedRule[] = [];
  for (const [file, text] of those(isRuleFile)) {
    const parsed = parseRule(text, file, { ...options, lists, sources, transmitters });
    if ('rule' in parsed) rules.push(parsed.rule);
    else problems.push(...parsed.problems);
  }
  const { guards, problems: ofGuards } = readGuards(ofSet, rules, undefined, { sources, transmitters });
  return { rules: guardedBy(rules, guards), problems: [...problems, ...ofGuards] };
}

/** Parses and checks one file's text. The end of `file` decides between YAML and JSON. Never throws. */
export function parseRule(
  text: string,
  file: string,
  options: ReadOptions,
): { rule: LoadedRule } | { problems: RuleProblem[] } {
  const read = readRuleText(text, file.endsWith('.json'));
  if ('faults' in read) return { problems: read.faults.map((fault) => ({ file, ...fault })) };
  const problems = new Problems(file, read.positionOf);
  const rule = readRule(read.value, text, file, (test) => read.positionOf(['tests', test]).line, options, problems);
  return rule ? { rule } : { problems: problems.list.sort(byPosition) };
}

function duplicate(rule: LoadedRule, first: LoadedRule, text: string): RuleProblem {
  const line = text.split('\n').findIndex((row) => /^\s*"?id"?\s*:/.test(row)) + 1;
  const message = `the id \`${rule.id}\` is used by \`${first.file}\` already; ids are unique`;
  return { file: rule.file, line: Math.max(1, line), column: 1, code: 'duplicate_id', message };
}
