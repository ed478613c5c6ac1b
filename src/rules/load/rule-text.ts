// rules: the text of a rule file, or of another file of ours → its value, and the place of each part. YAML or JSON.
// It must survive any text: size, depth and aliases are bounded before anything recursive sees them.
import { constants, type Dir } from 'node:fs';
import { open, opendir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  parseDocument,
  type Node as YamlNode,
} from 'yaml';
import { z } from 'zod';
import type { Fact } from '../../domain/facts.ts';
import { BRAKE_DEFAULT } from '../../domain/rollout.ts';
import { LIMITS_DEFAULT, MODES } from '../../domain/rule.ts';
import { SEVERITIES, SUBJECT_KINDS } from '../../domain/subjects.ts';
import { VERDICTS } from '../../domain/verdict.ts';
import type { Place, Position, ProblemCode, RuleProblem } from '../language/problem.ts';

// Where a text stops being JSON.

interface JsonFault {
  offset: number;
  expected: string;
}

const TOKEN =
  /[ \t\r\n]*(?:([{}[\],:])|("(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null))/uy;

type State = 'value' | 'first_value' | 'first_key' | 'key' | 'colon' | 'more' | 'end';

const EXPECTED: Record<State, string> = {
  value: 'a value',
  first_value: 'a value or `]`',
  first_key: 'a key in quotation marks or `}`',
  key: 'a key in quotation marks',
  colon: '`:`',
  more: '`,` or the closing bracket',
  end: 'the end of the file',
};

function findJsonFault(text: string): JsonFault {
  const open: string[] = [];
  let state: State = 'value';
  let offset = 0;
  for (;;) {
    const start = offset + (/^[ \t\r\n]*/.exec(text.slice(offset, offset + 10_000))?.[0].length ?? 0);
    TOKEN.lastIndex = offset;
    const token = TOKEN.exec(text);
    const next: State | null | undefined = token && after(state, token, open);
    if (!next || start >= text.length) return { offset: start, expected: EXPECTED[state] };
    state = next;
    offset = TOKEN.lastIndex;
  }
}

/** The state after a token; undefined when the token is not allowed here. Opens and closes brackets. */
function after(state: State, [, mark, text]: RegExpExecArray, open: string[]): State | undefined {
  const inside = (): State => (open.length > 0 ? 'more' : 'end');
  if (state === 'colon') return mark === ':' ? 'value' : undefined;
  if (state === 'key' || state === 'first_key') {
    if (text !== undefined) return 'colon';
    if (mark !== '}' || state === 'key') return undefined;
    open.pop();
    return inside();
  }
  if (state === 'more') {
    if (mark === ',') return open.at(-1) === '{' ? 'key' : 'value';
    if (mark !== (open.at(-1) === '{' ? '}' : ']')) return undefined;
    open.pop();
    return inside();
  }
  if (state === 'end') return undefined;
  if (mark === '{' || mark === '[') {
    open.push(mark);
    return mark === '{' ? 'first_key' : 'first_value';
  }
  if (mark === ']' && state === 'first_value') {
    open.pop();
    return inside();
  }
  return mark === undefined ? inside() : undefined;
}

const TEXT_BYTES_MAX = 262_144;
/** Levels of the file's value, lists and objects. Conditions have tighter bounds. */
const LEVELS_MAX = 150;
const VALUES_MAX = 20_000;
const ALIASES_MAX = 100;

interface RuleText {
  value: Fact;
  positionOf(place: Place): Position;
}
export interface TextFault extends Position {
  code: ProblemCode;
  message: string;
}

/** Reads one document. `json`: the text must be JSON; `what` it describes. Never throws. */
export function readRuleText(text: string, json: boolean, what = 'rule'): RuleText | { faults: TextFault[] } {
  if (text.length > TEXT_BYTES_MAX) {
    return fault('too_large', `the file is larger than ${TEXT_BYTES_MAX / 1024} KiB; a ${what} has one file`);
  }
  if (text.includes('\u0000')) return fault('syntax', 'the file is not text: it contains a zero byte');
  if (json) {
    const wrong = jsonFault(text);
    if (wrong) return { faults: [wrong] };
  }
  const deep = nestingFault(text);
  if (deep) return { faults: [deep] };
  try {
    return readDocument(text);
  } catch (error) {
    // No known text gets here, but the parser's own limits must not end the process either.
    return fault(
      'syntax',
      `the file cannot be parsed (${error instanceof RangeError ? 'nested too deep' : 'not YAML'})`,
    );
  }
}

function fault(code: ProblemCode, message: string, at: Position = { line: 1, column: 1 }): { faults: TextFault[] } {
  return { faults: [{ code, message, ...at }] };
}

function jsonFault(text: string): TextFault | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch {
    const { offset, expected } = findJsonFault(text);
    const before = text.slice(0, offset).split('\n');
    const found =
      offset >= text.length ? 'the end of the file' : `\`${text.slice(offset, offset + 20).split('\n')[0]}\``;
    return {
      code: 'syntax',
      message: `not JSON: expected ${expected}, found ${found}`,
      line: before.length,
      column: (before.at(-1)?.length ?? 0) + 1,
    };
  }
}

/** Counts flow brackets by tokens and block levels by indentation: the parser is recursive, this is not. */
function nestingFault(text: string): TextFault | undefined {
  const tooDeep = (line: number): TextFault => ({
    code: 'too_deep',
    message: `nested deeper than ${LEVELS_MAX} levels`,
    line,
    column: 1,
  });
  let line = 1;
  for (const row of text.split('\n')) {
    const lead = /^[ \t\-?:]*/.exec(row)?.[0].length ?? 0;
    if (lead > 2 * LEVELS_MAX && !row.startsWith('---')) return tooDeep(line);
    line++;
  }
  let depth = 0;
  line = 1;
  for (const token of new Lexer().lex(text)) {
    if (token === '[' || token === '{') depth++;
    else if (token === ']' || token === '}') depth--;
    else if (token.includes('\n')) line += token.split('\n').length - 1;
    if (depth > LEVELS_MAX) return tooDeep(line);
  }
  return undefined;
}

function readDocument(text: string): RuleText | { faults: TextFault[] } {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    intAsBigInt: true,
    logLevel: 'silent',
    merge: false,
  });
  const at = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  if (document.errors.length > 0) {
    const faults = document.errors.slice(0, 10).map((error): TextFault => {
      const message = (error.message.split('\n')[0] ?? '').replace(
        /^Map keys must be unique$/,
        'this key is given twice',
      );
      return { code: 'syntax', message, ...at(error.pos[0]) };
    });
    return { faults };
  }
  const reading: Reading = {
    positions: new Map(),
    values: 0,
    fault: undefined,
    at,
    aliases: 0,
    resolve: (node) => (isAlias(node) ? node.resolve(document) : undefined),
  };
  const value = document.contents ? factOf(document.contents, '', 0, reading) : null;
  if (reading.fault) return { faults: [reading.fault] };
  return { value, positionOf: (place) => nearestPosition(reading.positions, place) };
}

interface Reading {
  positions: Map<string, Position>;
  values: number;
  aliases: number;
  fault: TextFault | undefined;
  at(offset: number): Position;
  resolve(alias: YamlNode): YamlNode | undefined;
}

const keyOf = (place: Place): string => place.map((step) => `\u0000${step}`).join('');

/** The position of a place, or of the nearest thing around it. */
function nearestPosition(positions: Map<string, Position>, place: Place): Position {
  for (let length = place.length; length >= 0; length--) {
    const position = positions.get(keyOf(place.slice(0, length)));
    if (position) return position;
  }
  return { line: 1, column: 1 };
}

function factOf(node: unknown, place: string, level: number, reading: Reading): Fact {
  if (reading.fault) return null;
  const range = (node as YamlNode | null)?.range;
  const position = range ? reading.at(range[0]) : { line: 1, column: 1 };
  if (!reading.positions.has(place)) reading.positions.set(place, position);
  reading.values++;
  if (reading.values > VALUES_MAX) {
    reading.fault = { code: 'too_large', message: `more than ${VALUES_MAX} values (aliases counted)`, ...position };
    return null;
  }
  if (level > LEVELS_MAX) {
    reading.fault = { code: 'too_deep', message: `nested deeper than ${LEVELS_MAX} levels`, ...position };
    return null;
  }
  if (isAlias(node)) {
    if (++reading.aliases > ALIASES_MAX) {
      reading.fault = { code: 'too_large', message: `more than ${ALIASES_MAX} aliases`, ...position };
      return null;
    }
    const target = reading.resolve(node);
    return target ? factOf(target, place, level + 1, reading) : null;
  }
  if (isScalar(node)) return scalarOf(node.value);
  if (isSeq(node)) return node.items.map((item, index) => factOf(item, `${place}\u0000${index}`, level + 1, reading));
  if (isMap(node)) {
    const record: { [key: string]: Fact } = {};
    for (const item of node.items) {
      if (!isPair(item)) continue;
      const key = isScalar(item.key) ? String(item.key.value) : '[a complex key]';
      const inside = `${place}\u0000${key}`;
      const keyRange = (item.key as YamlNode | null)?.range;
      if (keyRange) reading.positions.set(inside, reading.at(keyRange[0]));
      const value = factOf(item.value, inside, level + 1, reading);
      // defineProperty: a key named `__proto__` must stay a key.
      Object.defineProperty(record, key, { value, enumerable: true, configurable: true, writable: true });
    }
    return record;
  }
  return null;
}

function scalarOf(value: unknown): Fact {
  if (typeof value === 'bigint') {
    return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value;
  }
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (value instanceof Date) return value.toISOString();
  return value === null || value === undefined ? null : String(value);
}

// A rules folder → the names and texts of its rule files.

/** Files and folders, those that are no rules included. */
const ENTRIES_MAX = 10_000;
const FOLDERS_DEEP_MAX = 16;
/** Rules to copy from. They become active when they are moved up, not by being shipped beside the others. */
const EXAMPLES = 'examples';
/** The history of a database that lies beside the rules: its evidence is JSON, and no rule. */
const HISTORY = '.history';

interface RuleFiles {
  files: string[];
  problems: RuleProblem[];
}

/**
 * Every `.yaml`, `.yml` and `.json` file under `dir` in order of names, sub-folders included; its `examples`, linked
 * folders, the history of a database and names that begin with a dot are left out. A missing folder throws.
 */
export async function listRuleFiles(dir: string): Promise<RuleFiles> {
  const found = { files: [], problems: [], entries: 0 };
  await listInto(found, dir, '', 0);
  found.files.sort();
  return found;
}

async function listInto(
  found: RuleFiles & { entries: number },
  dir: string,
  below: string,
  depth: number,
): Promise<void> {
  if (depth > FOLDERS_DEEP_MAX) {
    const message = `folders are nested deeper than ${FOLDERS_DEEP_MAX} levels; move these rules up`;
    found.problems.push(problemOf(below, 'too_deep', message));
    return;
  }
  for await (const entry of await openFolder(join(dir, below), below !== '')) {
    if (entry.name.startsWith('.')) continue;
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    found.entries++;
    if (found.entries > ENTRIES_MAX) {
      const message = `there are more than ${ENTRIES_MAX} files and folders; give a folder that holds only rules`;
      if (found.entries === ENTRIES_MAX + 1) found.problems.push(problemOf(path, 'too_large', message));
      return;
    }
    if (entry.isDirectory() && (path === EXAMPLES || path.endsWith(HISTORY))) continue;
    if (entry.isDirectory()) await listInto(found, dir, path, depth + 1);
    else if (/\.(ya?ml|json)$/.test(entry.name) && !entry.name.endsWith('.schema.json')) found.files.push(path);
  }
}

/** A sub-folder that has just been removed counts as empty. The rules folder itself must exist. */
async function openFolder(path: string, mayBeGone: boolean): Promise<Dir | []> {
  return opendir(path, { bufferSize: 256 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' && mayBeGone) return [];
    throw error;
  });
}

/** The text of a file, or why it is not read. Never throws. */
export async function readRuleFile(dir: string, file: string, what = 'rule'): Promise<string | RuleProblem> {
  try {
    const bytes = await readRegular(join(dir, file));
    if (bytes === undefined)
      return problemOf(file, 'unreadable', `it is not a regular file; put the ${what} into a file, or remove this`);
    if (bytes.length <= TEXT_BYTES_MAX) return bytes.toString('utf8');
    const message = `the file is larger than ${TEXT_BYTES_MAX / 1024} KiB; a ${what} has one file`;
    return problemOf(file, 'too_large', message);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    return problemOf(file, 'unreadable', `the file cannot be read (${code})`);
  }
}

/** Up to one byte more than a rule can have; undefined when it is not a regular file. */
async function readRegular(path: string): Promise<Buffer | undefined> {
  // Opening a device can have effects: it is looked at first. What is opened is looked at again, since it can be
  // another file by then; a pipe that nobody writes to is opened without waiting.
  if (!(await stat(path)).isFile()) return undefined;
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    if (!(await handle.stat()).isFile()) return undefined;
    // The size that the system gives is not always that of the text, as under /proc.
    const bytes = Buffer.allocUnsafe(TEXT_BYTES_MAX + 1);
    let length = 0;
    while (length < bytes.length) {
      const { bytesRead } = await handle.read(bytes, length, bytes.length - length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return bytes.subarray(0, length);
  } finally {
    await handle.close();
  }
}

function problemOf(file: string, code: RuleProblem['code'], message: string): RuleProblem {
  return { file, line: 1, column: 1, code, message };
}

// The format of a rule file as a zod schema, the JSON Schema made from it, and what is wrong with it in plain words.
// In: a file's value. Out: the fields with their defaults, or what is wrong and where. The condition is checked elsewhere.

// Runs under --disallow-code-generation-from-strings: zod must not compile its parsers.
z.config({ jitless: true });

export const RULE_FORMAT_VERSION = 1;
const DECLARED_TYPES = [
  'text',
  'version',
  'flag',
  'boolean',
  'number',
  'score',
  'time',
  'time_ns',
  'time_ms',
  'time_s',
  'texts',
  'numbers',
] as const;

const duration = z
  .string()
  .regex(/^\d+(\.\d+)?(ms|s|m|h|d|w)$/)
  .describe('A number and a unit: ms, s, m, h, d or w; such as 10m');
const json = z.unknown();

const brakeNumber = z.int().min(1).max(1_000);
const rollout = z.strictObject({
  steps: z
    .array(z.string().regex(/^\d{1,3}(\.\d{1,2})? ?%$/))
    .min(1)
    .max(10)
    .describe('Ascending shares of its subjects, such as 1%; the last one is 100%'),
  each: duration,
  brake: z
    .strictObject({
      reversed: brakeNumber.default(BRAKE_DEFAULT.reversed).describe('So many of what it did, reversed by people'),
      exempted: brakeNumber
        .default(BRAKE_DEFAULT.exempted)
        .describe('So many of those it acted on, exempted by people'),
    })
    .default({ ...BRAKE_DEFAULT })
    .describe('At either number it stops, and waits for a person'),
});

const proposal = z.union([
  z.string(),
  z.strictObject({ action: z.string(), with: z.record(z.string(), json).default({}) }),
]);

const testEvent = z
  .looseObject({
    ago: duration.default('0s'),
    times: z.int().min(1).max(10_000).default(1),
    of: z
      .string()
      .optional()
      .describe('Whose event: the e-mail of one of $owners, the serial number of one of $devices'),
  })
  .describe("Fields of an event, `ago` before now, `times` times; the subject's own without `of`");

const testSignal = z
  .looseObject({
    transmitter: z.string(),
    event: z.string().describe('Its short name, or its URI'),
    ago: duration.default('0s'),
    times: z.int().min(1).max(10_000).default(1),
    of: z.string().optional().describe('Whose signal, as for events'),
  })
  .describe('Members of a signal, `ago` before now, `times` times; about the subject without `of`');

const seenBefore = z
  .looseObject({ ago: duration })
  .describe('What a run saw, `ago` before now: fields by their paths; null: no value');

const testSchema = z.strictObject({
  name: z.string().min(1),
  given: z
    .record(z.string(), json)
    .default({})
    .describe(
      'Merged onto a complete, fresh, unremarkable record; null takes a field away. `$facts: {SOURCE: {field: …}}` is its row of a source: null for none, or one of unread, stale, untrusted, repeated',
    ),
  owners: z.array(z.record(z.string(), json)).optional().describe('The records of $owners'),
  devices: z.array(z.record(z.string(), json)).optional().describe('The records of $devices'),
  now: z.iso.datetime({ offset: true }).optional().describe('The time of the run, for a rule that asks for it'),
  events: z.array(testEvent).default([]),
  signals: z.array(testSignal).default([]),
  history: z.array(seenBefore).default([]),
  gaps: z
    .array(
      z.strictObject({
        from: duration,
        to: duration,
        transmitter: z.string().optional().describe('Its signals alone are not known'),
      }),
    )
    .default([])
    .describe(
      'Stretches before now that neither the event log nor signals are known for, and in which no run read anything',
    ),
  unavailable: z.array(z.literal('events')).default([]),
  signals_unavailable: z.array(z.string()).default([]).describe('Transmitters of which nothing is known for any time'),
  expect: z.union([
    z.enum(VERDICTS),
    z.strictObject({ verdict: z.enum(VERDICTS), reasons: z.array(z.string()).default([]) }),
  ]),
});

export const ruleSchema = z.strictObject({
  id: z
    .string()
    .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/)
    .max(100)
    .describe('Unique, in kebab-case'),
  title: z.string().min(1).max(300).optional(),
  description: z.string().optional(),
  severity: z.enum(SEVERITIES).default('medium'),
  subject: z.enum(SUBJECT_KINDS),
  when: json.describe('JSON Logic over the record: the problem, not the state that the action sets'),
  then: z.union([proposal, z.array(proposal).min(1)]).describe('An action, or a list of actions'),
  mode: z.enum(MODES).default('dry-run'),
  for: duration.default('0s').describe('Must have matched this long before it acts'),
  clear_for: duration
    .default('0s')
    .describe('Must have cleared this long before the match is over; with `revert` at least 30m is advised'),
  cooldown: duration.default('0s').describe('Least time between two attempts at one target'),
  when_allowed: z
    .union([z.string().min(1), z.array(z.string().min(1)).min(1)])
    .optional()
    .describe('Acts only in these windows, such as `Mon 09:00-Fri 17:00 Europe/Berlin`; a match outside of them waits'),
  notice: z
    .strictObject({
      before: duration.describe('From 5m to 30d: how long before it acts'),
      remind: z.array(duration).max(5).default([]).describe('How long before the deadline it says so again'),
      to: z.literal('owner').default('owner'),
    })
    .optional()
    .describe('Warns the owners first, and acts when the deadline has passed and the notice was delivered'),
  fix: z
    .strictObject({
      problem: z.string().min(1).max(300).optional().describe('What is wrong with the device, as its owner reads it'),
      text: z.string().min(1).max(2_000),
      url: z.string().max(2_000).optional(),
    })
    .optional()
    .describe('What is wrong and what people can do about it, in their notice and on their page'),
  rollout: rollout
    .optional()
    .describe('It begins with a share of its subjects, and takes more of them step by step; the others are reported'),
  revert: z
    .boolean()
    .default(false)
    .describe(
      'Undo what it did when no rule wants it any more, after a newer report than the one that acted, or a second reading',
    ),
  limits: z
    .strictObject({
      max: z.int().min(0).default(LIMITS_DEFAULT.max),
      percent: z.number().min(0).max(100).default(LIMITS_DEFAULT.percent),
      per_day: z.int().min(0).optional().describe('Subjects that newly match within 24 hours: more holds the rule'),
    })
    .default({ ...LIMITS_DEFAULT }),
  owners: z.enum(['one', 'all']).default('one'),
  watch: z.boolean().default(true).describe('Judge it also between two runs, when an event names its subject'),
  fresh: z
    .record(z.string(), duration)
    .default({})
    .describe('Timestamps, and how old they may be: beyond it, the facts beside them are unknown'),
  declares: z
    .record(z.string(), z.enum(DECLARED_TYPES))
    .default({})
    .describe('Fields that the server sends and the schema does not know'),
  tests: z.array(testSchema).default([]),
});

export type RuleFile = z.infer<typeof ruleSchema>;
export type TestFile = z.infer<typeof testSchema>;

/** The keys of a rule file, and of its parts, by the last key that leads there; for suggestions. */
export const KEYS: Record<string, readonly string[]> = {
  '': Object.keys(ruleSchema.shape),
  tests: Object.keys(testSchema.shape),
  limits: ['max', 'percent', 'per_day'],
  notice: ['before', 'remind', 'to'],
  fix: ['problem', 'text', 'url'],
  rollout: Object.keys(rollout.shape),
  brake: Object.keys(BRAKE_DEFAULT),
  then: ['action', 'with'],
  gaps: ['from', 'to'],
  expect: ['verdict', 'reasons'],
};
