// rules: what the checks of a condition share: the scope (which fields and operators can be used here), the operands as
// written, and how an operand is refused. In: the subject's schema, the rule's declarations. Out: a scope that checks pass down.

import { didYouMean, nearestName } from '../../base/nearest-name.ts';
import { parseDuration } from '../../base/time.ts';
import { type Fact, isFacts, showLiteral } from '../../domain/facts.ts';
import { GIVEN_KEYS, type GivenSource } from '../../domain/given-facts.ts';
import { KIND_OF, type SubjectKind } from '../../domain/subjects.ts';
import {
  type Constant,
  countIn,
  type Expression,
  type ExpressionOf,
  type Freshness,
  GIVEN,
  literalKey,
  type Operator,
  partsOf,
} from '../language/expression.ts';
import { type Edit, type EditsOf, type NamedList, nameOf, type Reads } from '../language/loaded-rule.ts';
import type { Place, ProblemCode } from '../language/problem.ts';
import {
  ANY,
  BOOLEAN,
  type Field,
  fieldAt,
  givenType,
  listOf,
  NUMBER,
  pathsOf,
  REFUSED,
  SECONDS,
  TEXT,
  type TimeUnit,
  typeName,
  UNIT_NAMES,
  type ValueType,
  VIRTUAL_NAMES,
  virtualType,
} from '../record-types/field-types.ts';
import type { KnownTransmitter } from '../record-types/signal-types.ts';
import { fieldMeant, operatorHint } from './other-names.ts';

/** An operator as rules write it. Its check makes an expression, which has the `Operator` that it means. */
export interface Form {
  min: number;
  max: number;
  /** How it is written, for the message about a wrong number of operands. */
  usage: string;
  check(operands: Operands, scope: Scope): Expression;
  /** Mutants: operators that the rule's tests should notice in its place. */
  swaps?: readonly string[];
  /** Mutants: other changes of the whole operation. */
  edits?(written: Fact, name: string): Edit[];
  /** Mutants: changes of its operands; by default, of each value in them. */
  innerEdits?(written: Fact, editsOf: EditsOf): Edit[];
  /** The operation of json-logic-js that means the same, where it has another name. */
  asIfOld?(written: Fact): Fact;
}

/**
 * A family of operators by the names that rules write. Its file has everything about them: how they are written and checked, what they compile
 * to, their text, when they are constant, their mutants.
 */
export type Family = { readonly [name: string]: Form };

/** How many operands are "any number". */
export const MANY = 1_000;

/** All operators of a rule language by the names that rules write. */
export type Language = ReadonlyMap<string, Form>;

export interface Scope {
  language: Language;
  /** The schema of events, for `where`. */
  eventRoot: ValueType;
  /** `event`: inside an event operator's `where`. */
  subject: SubjectKind | 'event';
  root: ValueType;
  /** The element's type inside `some`, `map`, …; undefined at the top. */
  item: ValueType | undefined;
  /** The source that the elements come from, when they are whole records. */
  itemSource: 'users' | 'devices' | undefined;
  fresh: readonly { freshness: Freshness; parent: readonly string[]; used: boolean }[];
  /** Lists that rules share, by their names. */
  lists: ReadonlyMap<string, NamedList>;
  /** Those of `signals.yaml`, by their names. */
  transmitters: ReadonlyMap<string, KnownTransmitter>;
  /** Sources of facts from elsewhere, by their names. */
  given: ReadonlyMap<string, GivenSource>;
  reads: Reads;
  problem(code: ProblemCode, place: Place, message: string): void;
}

/** One operator's operands as written, and the place of each. */
export interface Operands {
  name: string;
  args: readonly Fact[];
  place: Place;
  placeOf(index: number): Place;
}

/** Reports a problem. Returns a stand-in for the expression, so that the rest is checked, too. */
export function refuse(scope: Scope, code: ProblemCode, place: Place, message: string): Expression {
  scope.problem(code, place, message);
  return refused(place);
}

export function refused(place: Place): Expression {
  return { op: 'literal', value: null, type: REFUSED, place };
}

/** An operation, unless one of its operands was refused. */
export function call(operator: Operator, args: readonly Expression[], type: ValueType, place: Place): Expression {
  if (args.some((arg) => arg.type.kind === 'refused')) return refused(place);
  return { op: 'call', operator, args, type, place };
}

// How types fit together while a condition is checked.

/** The type that holds both, or undefined. */
export function unify(a: ValueType, b: ValueType): ValueType | undefined {
  if (a.kind === 'any' || a.kind === 'refused') return b;
  if (b.kind === 'any' || b.kind === 'refused') return a;
  if (a.kind === 'time' && b.kind === 'time') return a.unit === b.unit ? a : undefined;
  if (a.kind === 'list' && b.kind === 'list') {
    const of = unify(a.of, b.of);
    return of && { kind: 'list', of };
  }
  if (a.kind === b.kind) return a.kind === 'text' && a.values ? b : a;
  if (isTextual(a) && isTextual(b)) return TEXT;
  if (isNumeric(a) && isNumeric(b)) return NUMBER;
  if (isTruth(a) && isTruth(b)) return { kind: 'condition' };
  return undefined;
}

export const isTextual = (type: ValueType): boolean => type.kind === 'text' || type.kind === 'flag';
export const isNumeric = (type: ValueType): boolean =>
  type.kind === 'number' || type.kind === 'score' || type.kind === 'seconds';
const isTruth = (type: ValueType): boolean => type.kind === 'boolean' || type.kind === 'condition';

/** Gives an operand of unknown type the type that its use expects. A value of another type will be unknown. */
export function settle(expression: Expression, wanted: ValueType): Expression {
  if (expression.type.kind !== 'any' || wanted.kind === 'any' || wanted.kind === 'refused') return expression;
  const type: ValueType = wanted.kind === 'condition' ? BOOLEAN : wanted;
  if (expression.op === 'fact' && expression.fact.kind !== 'events') {
    return { ...expression, type, fact: { ...expression.fact, type, key: `${expression.fact.key} as ${type.kind}` } };
  }
  return { ...expression, type };
}

// JSON Logic as written → a typed expression.

/** Checks one expression. Its depth and size were measured before (`measure`). */
export function check(raw: Fact, place: Place, scope: Scope): Expression {
  if (Array.isArray(raw)) return checkList(raw, place, scope);
  if (!isFacts(raw)) return checkLiteral(raw, place, scope);
  const names = Object.keys(raw);
  const name = names[0];
  if (name === undefined) return refuse(scope, 'operator', place, 'expected an operator, found an empty object');
  if (names.length > 1) {
    const listed = names.slice(0, 4).map((each) => `\`${each}\``);
    return refuse(
      scope,
      'operator',
      place,
      `expected one operator in an object, found ${listed.join(', ')}; join them with \`and\``,
    );
  }
  const operator = scope.language.get(name);
  if (!operator) {
    return refuse(
      scope,
      'operator',
      [...place, name],
      `unknown operator \`${name}\`${operatorHint(name, scope.language.keys())}`,
    );
  }
  const written = raw[name] as Fact;
  const args = Array.isArray(written) ? written : [written];
  const operands: Operands = {
    name,
    args,
    place: [...place, name],
    placeOf: (index) => (Array.isArray(written) ? [...place, name, index] : [...place, name]),
  };
  if (args.length < operator.min || args.length > operator.max) {
    const wanted =
      operator.min === operator.max
        ? `${operator.min}`
        : operator.max > 100
          ? `at least ${operator.min}`
          : `${operator.min} to ${operator.max}`;
    return refuse(
      scope,
      'operator',
      operands.place,
      `\`${name}\` takes ${wanted} operand${wanted === '1' ? '' : 's'}, found ${args.length}; ${operator.usage}`,
    );
  }
  return operator.check(operands, scope);
}

/** Checks an expression in a boolean position: booleans, or lists (true when not empty). */
export function checkCondition(raw: Fact, place: Place, scope: Scope): Expression {
  const expression = settle(check(raw, place, scope), BOOLEAN);
  const { kind } = expression.type;
  if (kind === 'boolean' || kind === 'condition' || kind === 'list' || kind === 'refused') return expression;
  const name = nameOf(expression);
  if (kind === 'flag') {
    const fact = expression.op === 'fact' && expression.fact.kind === 'path' ? expression.fact.label : '…';
    const path = expression.op === 'item' ? expression.label : fact;
    const message = `${name} is a flag, the text "TRUE" or "FALSE", and every text would count as true; write {"==": [{"var": "${path}"}, "TRUE"]}`;
    return refuse(scope, 'type', place, message);
  }
  const hint = kind === 'text' ? 'compare it with `==` or `in`' : 'compare it with `==`, `<` or `>`';
  return refuse(
    scope,
    'type',
    place,
    `expected a boolean or a list, but ${name} is ${typeName(expression.type)}; ${hint}`,
  );
}

function checkLiteral(value: Exclude<Fact, Fact[] | { [key: string]: Fact }>, place: Place, scope: Scope): Expression {
  if (value === null) {
    return refuse(
      scope,
      'type',
      place,
      '`null` is not a value here; to handle absence, write `missing` or {"var": ["path", default]}',
    );
  }
  if (typeof value === 'string') return { op: 'literal', value, type: TEXT, place };
  if (typeof value === 'boolean') return { op: 'literal', value, type: BOOLEAN, place };
  return { op: 'literal', value, type: NUMBER, place };
}

function checkList(raw: readonly Fact[], place: Place, scope: Scope): Expression {
  const items = raw.map((item, index) => check(item, [...place, index], scope));
  let of: ValueType = ANY;
  for (const item of items) {
    const both = unify(of, item.type);
    if (!both) {
      return refuse(
        scope,
        'type',
        item.place,
        `a list holds values of one type: expected ${typeName(of)}, but ${nameOf(item)} is ${typeName(item.type)}`,
      );
    }
    of = both;
  }
  return { op: 'list', items: items.map((item) => settle(item, of)), type: { kind: 'list', of }, place };
}

// Checks an operand that must be a list, and what a condition on its elements can see.

/** The list, and the type of its elements; undefined when it was refused. */
export function checkListOperand(
  raw: Fact | undefined,
  place: Place,
  name: string,
  scope: Scope,
): { list: Expression; of: ValueType } | undefined {
  const list = settle(check(raw ?? null, place, scope), listOf(ANY));
  if (list.type.kind === 'list') return { list, of: list.type.of };
  if (list.type.kind !== 'refused')
    refuse(scope, 'type', list.place, `\`${name}\` takes a list, but ${nameOf(list)} is ${typeName(list.type)}`);
  return undefined;
}

/** The scope of a loop's body. */
export function insideOf(list: Expression, item: ValueType, scope: Scope): Scope {
  return { ...scope, item, itemSource: sourceOf(list) };
}

/** Which source the elements are whole records of. */
function sourceOf(list: Expression): 'users' | 'devices' | undefined {
  if (list.op === 'fact' && list.fact.kind === 'path' && list.fact.path.length === 1) {
    if (list.fact.path[0] === '$owners') return 'users';
    if (list.fact.path[0] === '$devices') return 'devices';
  }
  if (list.op !== 'call') return undefined;
  const lists = list.operator.elementsOf?.(list.args) ?? [];
  return lists.map(sourceOf).find((source) => source !== undefined);
}

// Checks paths: each must exist in the record's schema, or in the element's inside a loop.

/** The fact or element part at a path that exists. */
export function factAt(path: string, field: Field, fallback: Fact | undefined, place: Place, scope: Scope): Expression {
  const segments = path === '' ? [] : path.split('.');
  if (scope.item) return { op: 'item', path: segments, label: path, fallback, type: field.type, place };
  const isGiven = segments[0] === GIVEN;
  const fresh =
    path.startsWith('$') && !isGiven
      ? []
      : scope.fresh.filter(
          ({ freshness, parent }) =>
            (freshness.path[0] === GIVEN) === isGiven && parent.every((part, i) => segments[i] === part),
        );
  for (const each of fresh) each.used = true;
  const freshness = fresh.map((each) => each.freshness);
  const key = `${path}${fallback === undefined ? '' : ` ?? ${literalKey(fallback)}`}${freshness.map((each) => ` fresh ${each.label}:${each.ms}`).join('')}`;
  return {
    op: 'fact',
    fact: { kind: 'path', key, label: path, path: segments, type: field.type, fallback, fresh: freshness },
    type: field.type,
    place,
  };
}

/** The path whose parts are written one by one, as `val` and `exists` take it; a refused one is reported. */
export function pathInParts({ name, args, placeOf, place }: Operands, scope: Scope): string | undefined {
  for (const [index, part] of args.entries()) {
    const isName = typeof part === 'string' && part !== '' && !part.includes('.');
    if (isName || (typeof part === 'number' && Number.isInteger(part) && part >= 0)) continue;
    const parts = typeof part === 'string' ? part.split('.').filter((one) => one !== '') : [];
    const message = Array.isArray(part)
      ? `\`${name}\` reads the record, or inside a loop the element; it takes no levels`
      : parts.length > 1
        ? `\`${name}\` takes the parts of a path one by one; write {"${name}": ${JSON.stringify(parts)}}`
        : `\`${name}\` takes the parts of a path, written out as texts`;
    scope.problem('path', args.length > 1 ? placeOf(index) : place, message);
    return undefined;
  }
  return args.join('.');
}

/** Finds a path where it is written and notes the read; reports an unknown one. */
export function resolvePath(path: string, place: Place, scope: Scope): Field | undefined {
  if (path === '') {
    if (scope.item) return { type: scope.item };
    scope.problem('path', place, 'expected a field of the record; the whole record is no fact');
    return undefined;
  }
  const segments = path.split('.');
  if (segments[0] === GIVEN) return resolveGiven(path, segments.slice(1), place, scope);
  if (scope.item) return resolveItemPath(path, segments, place, scope);
  const first = segments[0] as string;
  const virtual = first.startsWith('$') ? virtualType(scope.subject, first) : undefined;
  if (first.startsWith('$') && !virtual) return refuseVirtual(first, place, scope);
  const field = virtual ? fieldAt(virtual, segments.slice(1)) : fieldAt(scope.root, segments);
  if (!field) return refusePath(path, place, scope, virtual ?? scope.root, virtual ? `${first}.` : '');
  noteRead(segments, field, place, scope);
  return field;
}

/** A field of a source, or with its name alone the row. */
function resolveGiven(path: string, [name = '', ...rest]: string[], place: Place, scope: Scope): Field | undefined {
  const { given, subject, item, itemSource, reads } = scope;
  const fault = (message: string) => void scope.problem('path', place, message);
  const about = item ? itemSource && KIND_OF[itemSource] : subject;
  if (about === undefined || about === 'event')
    return fault(`\`${GIVEN}\` is read of the subject, or of an element of \`$owners\` or \`$devices\``);
  const source = given.get(name);
  if (!source) return fault(unknownSource(name, [...given.keys()]));
  const { kind } = GIVEN_KEYS[source.key.is];
  if (kind !== about) {
    const joined = { device: kind === 'user' && '$owners', user: kind === 'device' && '$devices', service: false }[
      about
    ];
    const instead = joined && !item ? `; write {"some": [{"var": "${joined}"}, …]} and read it of the element` : '';
    return fault(
      `the rows of \`${name}\` are about a ${kind}, by ${source.key.is}, and not about a ${about}${instead}`,
    );
  }
  const type = givenType(source);
  const field = fieldAt(type, rest);
  if (!field) return refusePath(path, place, scope, type, `${GIVEN}.${name}.`, fieldHint(rest.join('.'), name, type));
  reads.given.add([name, ...rest].join('.'));
  if (itemSource) reads[itemSource].add(GIVEN_KEYS[source.key.is].field);
  return field;
}

/** What is wrong with the name of a source of facts. */
export function unknownSource(name: string, known: readonly string[]): string {
  const names = known.length === 0 ? '`sources.yaml` beside the rules names none' : `known: ${known.join(', ')}`;
  return `there is no source \`${name}\` of facts${didYouMean(name, known) || `; ${names}`}`;
}

function fieldHint(path: string, source: string, type: ValueType): string {
  const meant = nearestName(path, pathsOf(type));
  return meant
    ? `; did you mean \`${GIVEN}.${source}.${meant}\`?`
    : `; known of \`${source}\`: ${pathsOf(type).join(', ')}`;
}

function noteRead(segments: string[], field: Field, place: Place, scope: Scope): void {
  const { reads } = scope;
  const first = segments[0];
  const path = segments.join('.');
  const isOwn = first !== '$owners' && first !== '$devices' && scope.subject !== 'event';
  if (isOwn && !reads.places.has(path)) reads.places.set(path, place);
  if (first === '$owners' || first === '$devices') {
    const source = first === '$owners' ? 'users' : 'devices';
    if (source === 'users') reads.owners = true;
    else {
      reads.joinedDevices = true;
      // Whose those of a shared serial number are.
      reads.devices.add('Emails');
    }
    // Only the unpaged lists have the keys that join them: Emails of a device, SerialNumbers of a user.
    reads.unpaged.add(source === 'users' ? 'devices' : 'users');
    if (segments.length > 2) noteJoined(source, segments.slice(2), field, scope);
  } else if (first !== '$spec' && scope.subject !== 'event') {
    reads.record.add(path);
    if (field.unpagedOnly) reads.unpaged.add(scope.subject === 'user' ? 'users' : 'devices');
  }
}

function noteJoined(source: 'users' | 'devices', segments: string[], field: Field, scope: Scope): void {
  scope.reads[source].add(segments.join('.'));
  if (field.unpagedOnly) scope.reads.unpaged.add(source);
}

function resolveItemPath(path: string, segments: string[], place: Place, scope: Scope): Field | undefined {
  const item = scope.item as ValueType;
  const field = fieldAt(item, segments);
  if (!field) {
    const outer = fieldAt(scope.root, segments)
      ? '; inside `some`, `all`, `none`, `count`, `filter`, `map` and `reduce` only the element can be read'
      : '';
    return refusePath(path, place, scope, item, '', outer);
  }
  if (scope.itemSource) {
    const own = segments[0] === 'current' || segments[0] === 'accumulator' ? segments.slice(1) : segments;
    if (own.length > 0) noteJoined(scope.itemSource, own, field, scope);
  }
  return field;
}

function refuseVirtual(name: string, place: Place, scope: Scope): undefined {
  const known = VIRTUAL_NAMES[scope.subject];
  const listed =
    known.length > 0
      ? `a ${scope.subject} rule can read ${known.map((each) => `\`${each}\``).join(' and ')}`
      : 'an event has none';
  scope.problem('path', place, `there is no \`${name}\` here; ${listed}`);
  return undefined;
}

function refusePath(path: string, place: Place, scope: Scope, type: ValueType, prefix: string, hint = ''): undefined {
  const where = scope.item ? 'an element here' : `a ${scope.subject}`;
  const paths = pathsOf(type, prefix);
  const nearest = fieldMeant(path, paths) ?? nearestPath(path, paths);
  const advice =
    hint ||
    (nearest ? `; did you mean \`${nearest}\`?` : '; if the server sends it, name it and its type in `declares`');
  scope.problem('path', place, `${where} has no field \`${path}\`${advice}`);
  return undefined;
}

/** The nearest whole path; else the one whose last part is nearest to the written last part. */
function nearestPath(path: string, paths: string[]): string | undefined {
  const whole = nearestName(path, paths);
  if (whole) return whole;
  const lastOf = (each: string): string => each.slice(each.lastIndexOf('.') + 1);
  const last = nearestName(lastOf(path), paths.map(lastOf));
  return last === undefined || last.length < 4 ? undefined : paths.find((each) => lastOf(each) === last);
}

export function checkText(raw: Fact, place: Place, name: string, scope: Scope): Expression {
  const text = settle(check(raw, place, scope), TEXT);
  if (isTextual(text.type) || text.type.kind === 'refused') return text;
  return refuse(scope, 'type', place, `\`${name}\` takes texts, but ${nameOf(text)} is ${typeName(text.type)}`);
}

// Units of literals: durations where seconds are meant, timestamps in the unit of their field.

const NS_PER: Record<Exclude<TimeUnit, 'any'>, bigint> = { ns: 1n, ms: 1_000_000n, s: 1_000_000_000n };
/** Ten years. A number above this is taken for milliseconds written by mistake. */
const SECONDS_MAX = 315_360_000;

/** A duration text such as "90d" as a number of seconds. Reports a text that is no duration. */
export function checkDuration(literal: ExpressionOf<'literal'>, scope: Scope): Expression | undefined {
  const ms = parseDuration(literal.value as string);
  if (ms === undefined) {
    refuse(scope, 'unit', literal.place, durationFault(literal.value));
    return undefined;
  }
  return { ...literal, value: ms / 1_000, type: SECONDS, text: literal.value as string };
}

/** What is wrong with a duration, and how it is written. */
export function durationFault(value: Fact | undefined): string {
  const shown = value === undefined ? 'nothing' : `\`${showLiteral(value)}\``;
  const parts = typeof value === 'string' ? /^\s*(\d+(?:\.\d+)?)\s*([a-zµ]+)\s*$/i.exec(value) : undefined;
  const unit = parts ? UNIT_WORDS.find(([pattern]) => pattern.test(parts[2] as string))?.[1] : undefined;
  const hint = unit
    ? `; did you mean "${parts?.[1]}${unit}"?`
    : '; write a number and one of ms, s, m, h, d, w, such as "10m" or "90d"';
  return `expected a duration, found ${shown}${hint}`;
}

const UNIT_WORDS: [RegExp, string][] = [
  [/^(ms|msecs?|millis(econds?)?|milliseconds?)$/i, 'ms'],
  [/^(s|secs?|seconds?)$/i, 's'],
  [/^(m|mins?|minutes?)$/i, 'm'],
  [/^(h|hrs?|hours?)$/i, 'h'],
  [/^(d|days?)$/i, 'd'],
  [/^(w|wks?|weeks?)$/i, 'w'],
];

export function checkSecondsLiteral(literal: ExpressionOf<'literal'>, scope: Scope): boolean {
  const value = literal.value;
  if ((typeof value !== 'number' && typeof value !== 'bigint') || Number(value) <= SECONDS_MAX) return true;
  const ms = Number(value);
  const days = ms / 86_400_000;
  const likely = ms >= 1e11 ? 'a point in time' : 'milliseconds';
  const hint =
    ms < 1e11
      ? `write "${Number.isInteger(days) ? `${days}d` : `${Math.round(ms / 1000)}s`}"`
      : 'write how long ago it was, such as "90d"';
  scope.problem('unit', literal.place, `an age is counted in seconds, and \`${value}\` looks like ${likely}; ${hint}`);
  return false;
}

/** The unit of an epoch time, by its magnitude; undefined for 0 and for other numbers. */
export function epochUnitOf(value: number | bigint): Exclude<TimeUnit, 'any'> | undefined {
  const size = Number(value);
  if (size >= 1e17 && size < 1e20) return 'ns';
  if (size >= 1e11 && size < 1e14) return 'ms';
  if (size >= 1e8 && size < 1e11) return 's';
  return undefined;
}

/** A literal compared with a timestamp: 0 (never), or a time in the timestamp's own unit. */
export function checkTimeLiteral(time: Expression, literal: ExpressionOf<'literal'>, scope: Scope): boolean {
  const value = literal.value;
  const unit = time.type.kind === 'time' ? time.type.unit : 'any';
  if (typeof value !== 'number' && typeof value !== 'bigint') {
    const hint = '; for how long ago it was, compare {"age": …} with a duration such as "90d"';
    scope.problem(
      'type',
      literal.place,
      `${nameOf(time)} is a timestamp and cannot be compared with \`${showLiteral(value)}\`${hint}`,
    );
    return false;
  }
  if (Number(value) === 0) return true;
  const found = epochUnitOf(value);
  if (found && (unit === 'any' || found === unit)) return true;
  scope.problem('unit', literal.place, timeFault(time, value, unit, found, literal.place));
  return false;
}

function timeFault(
  time: Expression,
  value: number | bigint,
  unit: TimeUnit,
  found: TimeUnit | undefined,
  _: Place,
): string {
  const wanted = unit === 'any' ? 'a timestamp' : `a timestamp in ${UNIT_NAMES[unit]}`;
  if (found && found !== 'any' && unit !== 'any') {
    const right = (BigInt(Math.trunc(Number(value))) * NS_PER[found]) / NS_PER[unit];
    return `${nameOf(time)} is ${wanted}, and \`${value}\` looks like ${UNIT_NAMES[found]}; write ${right}`;
  }
  return `${nameOf(time)} is ${wanted}, and \`${value}\` is none; for how long ago it was, compare {"age": …} with a duration such as "90d"`;
}

// Which values a field can have: flags are "TRUE" or "FALSE", scores lie between 0 and 100, some texts are known.

/** A list that rules share may be long: its first ones show whether it is spelt as the field is. */
const COMPARED_MAX = 200;

/** Whether a text can be a value of that field. A flag has two values; other known values only catch typing errors. */
export function checkKnownText(field: Expression, literal: ExpressionOf<'literal'>, scope: Scope): boolean {
  const value = literal.value;
  if (typeof value !== 'string' || field.op === 'literal') return true;
  if (field.type.kind === 'flag') {
    if (value === 'TRUE' || value === 'FALSE') return true;
    const upper = value.trim().toUpperCase();
    const hint =
      upper === 'TRUE' || upper === 'FALSE'
        ? `; write "${upper}"`
        : value === ''
          ? '; an empty flag counts as missing: write {"missing": ["path"]}'
          : '';
    scope.problem('value', literal.place, `${nameOf(field)} is "TRUE" or "FALSE", never ${showLiteral(value)}${hint}`);
    return false;
  }
  const { values: known, usual = [] } = field.type.kind === 'text' ? field.type : {};
  const { compared } = scope.reads;
  if (
    !known &&
    compared.length < COMPARED_MAX &&
    field.op === 'fact' &&
    field.fact.kind === 'path' &&
    scope.subject !== 'event'
  )
    compared.push({ path: field.fact.label, value, usual });
  if (!known || known.includes(value) || value === '') return true;
  const lower = value.toLowerCase();
  const starts = (each: string) => field.op === 'call' && lower.startsWith(each.toLowerCase());
  const meant = known.find((each) => each.toLowerCase() === lower) ?? nearestName(value, known) ?? known.find(starts);
  const hint =
    meant === undefined
      ? ` (known: ${known.join(', ')})${field.op === 'call' ? '' : '; if the server has it, declare the field as `text` in `declares`'}`
      : `; did you mean "${meant}"?`;
  scope.problem('value', literal.place, `${nameOf(field)} is not known to have the value ${showLiteral(value)}${hint}`);
  return false;
}

/** Whether a number can be a value of that field. */
export function checkScore(field: Expression, literal: ExpressionOf<'literal'>, scope: Scope): boolean {
  const fault = field.type.kind === 'score' ? scoreFault(literal.value) : undefined;
  if (fault !== undefined) scope.problem('value', literal.place, `${nameOf(field)} is a trust score ${fault}`);
  return fault === undefined;
}

/** What is wrong with a number as a trust score. One between 0 and 1 was meant as a share of 1. */
export function scoreFault(value: Fact): string | undefined {
  const number = Number(value);
  if (number < 0 || number > 100) return `from 0 to 100; it is never ${showLiteral(value)}`;
  if (number === 0 || number >= 1) return undefined;
  const meant = Number((number * 100).toPrecision(12));
  return `from 0 to 100, not from 0 to 1${meant < 1 ? '' : `; did you mean ${meant}?`}`;
}

// How deep and large a condition may be.

const DEPTH_MAX = 32;
const NODES_MAX = 1_000;

interface TooMuch {
  code: 'too_deep' | 'too_large';
  message: string;
}

const TOO_LARGE: TooMuch = {
  code: 'too_large',
  message: `\`when\` is too large: more than ${NODES_MAX} operators and values`,
};

/** Why a condition is too deep or too large, or undefined. Iterative: the value may be nested without bound. */
export function measure(raw: Fact): TooMuch | undefined {
  let nodes = 0;
  const waiting: { value: Fact; depth: number }[] = [{ value: raw, depth: 0 }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { value, depth } = next;
    if (depth > DEPTH_MAX)
      return { code: 'too_deep', message: `\`when\` is nested deeper than ${DEPTH_MAX} operators` };
    if (!Array.isArray(value) && ++nodes > NODES_MAX) return TOO_LARGE;
    if (Array.isArray(value)) {
      // A list in a list is a level too, so that lists alone cannot nest without bound.
      for (const item of value) waiting.push({ value: item, depth: Array.isArray(item) ? depth + 1 : depth });
    } else if (isFacts(value)) {
      for (const item of Object.values(value)) waiting.push({ value: item, depth: depth + 1 });
    }
    if (waiting.length > 10 * NODES_MAX) return TOO_LARGE;
  }
  return undefined;
}

// Finds parts of a condition that are the same for every subject whose facts are known.

/** Reports every constant part, but not the parts around it. Returns whether there is any. */
export function checkConstants(condition: Expression, report: (place: Place, message: string) => void): boolean {
  const where = countIn(condition)?.count.where;
  const within = [...partsOf(condition), ...(where ? [where] : [])].map((part) => checkConstants(part, report));
  if (within.includes(true)) return true;
  const found = constantIn(condition);
  if (found) report(found.place, `this is always ${found.truth}: ${found.because}`);
  return found !== undefined;
}

function constantIn(expression: Expression): (Constant & { place: Place }) | undefined {
  if (expression.op !== 'call') return undefined;
  const { operator, args, place } = expression;
  // A literal where a condition is expected.
  const literal = args.find((arg, index) => arg.op === 'literal' && operator.asksTruthOf?.(index, args.length));
  if (literal?.op === 'literal')
    return { place: literal.place, truth: literal.value ? 'true' : 'false', because: 'it is written out' };
  const isTest = expression.type.kind === 'boolean' && !operator.joins && !operator.body;
  if (isTest && !readsAnything(expression)) return { place, truth: 'the same', because: 'it reads no fact' };
  const constant = operator.constant?.(args);
  return constant && { place, ...constant };
}

function readsAnything(expression: Expression): boolean {
  if (['fact', 'item', 'now'].includes(expression.op)) return true;
  if (expression.op === 'call' && expression.operator.looksIn) return true;
  return partsOf(expression).some(readsAnything);
}
