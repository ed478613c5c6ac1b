// evaluate: the text of a rule file, or of another file of ours → its value, and the place of each part. YAML or JSON.
// It must survive any text: size, depth and aliases are bounded before anything recursive sees them.
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
import type { Fact } from '../../domain/facts.ts';
import type { Place, Position, ProblemCode } from '../language/problem.ts';
import { findJsonFault } from './json-fault.ts';

export const TEXT_BYTES_MAX = 262_144;
/** Levels of the file's value, lists and objects. Conditions have tighter bounds. */
export const LEVELS_MAX = 150;
const VALUES_MAX = 20_000;
const ALIASES_MAX = 100;

export interface RuleText {
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
