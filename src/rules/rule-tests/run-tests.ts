// rules: runs the tests inside rules. In: loaded rules and a now. Out: a report: results, which conditions were seen
// true, false and unknown, tests that cannot fail, mutants that no test notices. Pure: the same rules, the same report.

import type { RulesLogic } from 'json-logic-js';
import jsonLogic from 'json-logic-js';
import { formatDuration, parseDuration } from '../../base/time.ts';
import { giveWay } from '../../base/turns.ts';
import type { TrustEvent } from '../../domain/event.ts';
import { type Fact, type Facts, isFacts, ownText } from '../../domain/facts.ts';
import type { GivenSource } from '../../domain/given-facts.ts';
import {
  GIVEN_DOUBTS,
  type GivenRow,
  type GivenTable,
  type GivenTables,
  givenKeyOf,
  packRows,
  REPEATED,
  unreadTable,
} from '../../domain/given-table.ts';
import { type FactChange, LOOK_BACK_GAP_MS, type LookBackItem } from '../../domain/look-back.ts';
import type { Coverage } from '../../domain/snapshot.ts';
import { type SubjectKind, summaryOf } from '../../domain/subjects.ts';
import { type AtomCoverage, type RuleTestReport, type TestResult, unseenOf } from '../../domain/verdict.ts';
import type { Language } from '../check/scope.ts';
import { nanoseconds, sampleRecord, sampleSpec } from '../facts/fact-list.ts';
import { findFlips } from '../judge/flips.ts';
import { type FactsContext, type Judged, prepareRule, slotValue } from '../judge/judge-once.ts';
import {
  type Expression,
  FALSE,
  GIVEN,
  keyOf,
  ownAt,
  partsOf,
  Span,
  TRUE,
  textOf,
  Unknown,
  virtualOf,
  walk,
} from '../language/expression.ts';
import {
  type Edit,
  type EditsOf,
  type LoadedRule,
  literalEdits,
  type NamedList,
  type RuleTest,
  type TestEvent,
  type TestSignal,
  within,
} from '../language/loaded-rule.ts';
import type { Place } from '../language/problem.ts';
import { withChanges } from '../load/read-rule.ts';
import { LANGUAGE } from '../operators/operators.ts';
import { fieldAt, givenType, recordType, type ValueType } from '../record-types/field-types.ts';

/** Undefined when it is not written as a time. */
function timeOf(written: Facts, type: ValueType | undefined, nowMs: number): Fact | undefined {
  const ago =
    Object.keys(written).length === 1 && typeof written.ago === 'string' ? parseDuration(written.ago) : undefined;
  if (ago === undefined) return undefined;
  const epochMs = nowMs - ago;
  const unit = type?.kind === 'time' ? type.unit : 'ns';
  return unit === 'ns' ? nanoseconds(epochMs) : unit === 's' ? Math.trunc(epochMs / 1_000) : epochMs;
}

// The history of a rule test → what runs saw of its subject.

/** Undefined for a rule that does not look back. */
function arrangeHistory(
  { subject, reads }: Pick<LoadedRule, 'subject' | 'reads'>,
  { history, gaps }: Pick<RuleTest, 'history' | 'gaps'>,
  record: Facts,
  { nowMs, pastMs }: { nowMs: number; pastMs: number },
): LookBackItem[] | undefined {
  if (reads.lookBack.size === 0) return undefined;
  const { id } = summaryOf(subject, record);
  const said = history.toSorted((a, b) => b.agoMs - a.agoMs);
  const ofAll = gaps.filter(({ transmitter }) => transmitter === undefined);
  const isInGap = (agoMs: number) => ofAll.some(({ fromAgoMs, toAgoMs }) => agoMs < fromAgoMs && agoMs > toAgoMs);
  const daily = Array.from({ length: Math.floor(pastMs / LOOK_BACK_GAP_MS) }, (_, day) => (day + 1) * LOOK_BACK_GAP_MS);
  const edges = ofAll.flatMap(({ fromAgoMs, toAgoMs }) => [fromAgoMs, toAgoMs]);
  const quiet = [...daily, ...edges].filter((agoMs) => agoMs > 0 && !isInGap(agoMs));
  const times = [...new Set([...quiet, ...said.map(({ agoMs }) => agoMs)])].sort((a, b) => b - a);
  const change = (path: string, value: Fact | undefined): FactChange => ({ kind: subject, subject: id, path, value });
  const seen = (path: string, value: Fact): FactChange => {
    const type = fieldAt(recordType(subject), path.split('.'))?.type;
    return change(path, value === null ? undefined : isFacts(value) ? timeOf(value, type, nowMs) : value);
  };
  const first = [...reads.lookBack].map((path) => {
    const earliest = said.find(({ values }) => Object.hasOwn(values, path));
    return earliest ? seen(path, earliest.values[path] as Fact) : change(path, ownAt(record, path.split('.')));
  });
  return times.map((agoMs, index): LookBackItem => {
    const now = said.filter((each) => each.agoMs === agoMs).flatMap(({ values }) => Object.entries(values));
    const changes = [...(index === 0 ? first : []), ...now.map(([path, value]) => seen(path, value))];
    return { kind: 'run', run: { atMs: nowMs - agoMs, read: [subject], singly: [], changes } };
  });
}

// A rule test → the record, the events, the joins and the coverage that it is judged with.

export interface Arranged {
  record: Facts;
  events: TrustEvent[];
  context: FactsContext;
  /** What runs saw before; undefined for a rule that does not look back. */
  past: LookBackItem[] | undefined;
}

const PAST_MS = 400 * 86_400_000;

/** `testsNowMs`: the time of the run in a test that names none. */
export function arrangeTest(rule: LoadedRule, test: RuleTest, testsNowMs: number): Arranged {
  const nowMs = test.nowMs ?? testsNowMs;
  const { $spec: specChanges, [GIVEN]: _, ...changes } = test.given;
  const sample = sampleRecord(rule.subject, nowMs);
  if (isFacts(specChanges)) sample.ServiceSpec = JSON.stringify(merged(sampleSpec(), specChanges, undefined, nowMs));
  const joined = joinedRecords(rule, test, nowMs);
  if (test.joined && rule.subject === 'device') sample.Emails = joined.map((user) => ownText(user, 'Email') ?? '');
  if (test.joined && rule.subject === 'user')
    sample.SerialNumbers = joined.map((device) => ownText(device, 'SerialNumber') ?? '');
  const record = merged(sample, changes, recordType(rule.subject), nowMs);
  return {
    record,
    past: arrangeHistory(rule, test, record, { nowMs, pastMs: PAST_MS }),
    events: [
      ...test.events.flatMap((event, index) => eventsOf(event, `event-${index}`, rule, record, nowMs)),
      ...test.signals.flatMap((signal, index) => eventsOf(signal, `signal-${index}`, rule, record, nowMs)),
    ],
    context: {
      nowMs,
      joins: {
        users: new Map(
          rule.subject === 'device' ? joined.map((user) => [(ownText(user, 'Email') ?? '').toLowerCase(), user]) : [],
        ),
        devices: bySerial(rule.subject === 'user' ? joined : []),
      },
      given: givenTables(rule, test, [record, ...joined], nowMs),
      coverage: [
        ...coverageOf(test, nowMs, undefined),
        ...rule.transmitters.flatMap(({ name }) => coverageOf(test, nowMs, name)),
      ],
      unavailable: new Set(test.eventsUnavailable ? ['events' as const] : []),
    },
  };
}

function joinedRecords(rule: LoadedRule, test: RuleTest, nowMs: number): Facts[] {
  const kind = rule.subject === 'device' ? 'user' : 'device';
  const given = test.joined ?? [{}];
  return given.map(({ [GIVEN]: _, ...changes }, index) =>
    merged(sampleRecord(kind, nowMs, index + 1), changes, recordType(kind), nowMs),
  );
}

/** `records`: the subject and those joined to it. A source of which nothing is said has no row of any of them. */
function givenTables({ given }: LoadedRule, test: RuleTest, records: readonly Facts[], nowMs: number): GivenTables {
  const said = [test.given, ...(test.joined ?? [])].map((one) => one[GIVEN]);
  const tableOf = (source: GivenSource): GivenTable => {
    const rows = new Map<string, GivenRow>();
    let doubt: GivenTable['doubt'];
    for (const [at, record] of records.entries()) {
      const row = ownAt(said[at], [source.name]);
      const key = givenKeyOf(source.key.is, record);
      const why = GIVEN_DOUBTS.find((word) => word === row);
      if (why) doubt = { why, text: why };
      else if (key !== undefined && row === REPEATED) rows.set(key, REPEATED);
      else if (key !== undefined && isFacts(row)) rows.set(key, merged({}, row, givenType(source), nowMs));
    }
    const read = { hash: source.name, atMs: nowMs, readAt: nowMs, freshUntilMs: nowMs };
    return { ...unreadTable(source, ''), ...read, doubt, rows: packRows(rows) };
  };
  return new Map(given.map((source) => [source.name, tableOf(source)]));
}

function bySerial(devices: readonly Facts[]): Map<string, Facts[]> {
  const map = new Map<string, Facts[]>();
  for (const device of devices) {
    const serial = ownText(device, 'SerialNumber') ?? '';
    map.set(serial, [...(map.get(serial) ?? []), device]);
  }
  return map;
}

/** A merge patch: `null` removes a field, objects are merged, other values replace. `{ago: "90d"}` is a time. */
function merged(base: Facts, changes: Facts, type: ValueType | undefined, nowMs: number): Facts {
  const result: Facts = { ...base };
  for (const [key, change] of Object.entries(changes)) {
    const inner = type && fieldAt(type, [key])?.type;
    const before = Object.hasOwn(base, key) ? base[key] : undefined;
    if (change === null) delete result[key];
    else set(result, key, changed(before, change, inner, nowMs));
  }
  return result;
}

function changed(before: Fact | undefined, change: Fact, type: ValueType | undefined, nowMs: number): Fact {
  if (!isFacts(change)) return change;
  const time = timeOf(change, type, nowMs);
  if (time !== undefined) return time;
  return merged(isFacts(before) ? before : {}, change, type, nowMs);
}

function set(record: Facts, key: string, value: Fact): void {
  Object.defineProperty(record, key, { value, enumerable: true, configurable: true, writable: true });
}

function coverageOf({ gaps, signalsUnavailable }: RuleTest, nowMs: number, log: string | undefined): Coverage[] {
  if (log !== undefined && signalsUnavailable.includes(log)) return [];
  let known: Coverage[] = [{ ...(log !== undefined && { transmitter: log }), fromMs: nowMs - PAST_MS, toMs: nowMs }];
  for (const { fromAgoMs, toAgoMs, transmitter } of gaps) {
    if (transmitter !== undefined && transmitter !== log) continue;
    const [from, to] = [nowMs - fromAgoMs, nowMs - toAgoMs];
    known = known.flatMap((part) => [
      { ...part, toMs: Math.min(part.toMs, from - 1) },
      { ...part, fromMs: Math.max(part.fromMs, to + 1) },
    ]);
    known = known.filter((part) => part.fromMs <= part.toMs);
  }
  return known;
}

const EVENT_SAMPLE: Facts = {
  type: 'Access',
  sub_type: 'Connection',
  action: 'Authorized',
  severity: 'INFO',
  result: '',
};

function eventsOf(
  event: TestEvent | TestSignal,
  name: string,
  rule: LoadedRule,
  record: Facts,
  nowMs: number,
): TrustEvent[] {
  return Array.from({ length: event.times }, (_, time): TrustEvent => {
    const id = `${name}-${time}`;
    const createdAtMs = nowMs - event.agoMs;
    const isSignal = 'transmitter' in event;
    const seconds = Math.trunc(createdAtMs / 1_000);
    const body: Facts = isSignal
      ? { event_timestamp: seconds, ...event.body }
      : { id, created_at: createdAtMs, ...EVENT_SAMPLE, ...event.body };
    const text = (key: string): string => ownText(body, key) ?? '';
    const { of } = event;
    const isOwn = (kind: SubjectKind) => of === undefined && rule.subject === kind;
    // Of an owner of the device, or of a device of the user.
    const [ofOwner, ofDevice] = rule.subject === 'device' ? [of, undefined] : [undefined, of];
    return {
      id,
      ...(isSignal && { transmitter: event.transmitter }),
      createdAtMs,
      deviceId: isOwn('device') ? ownText(record, 'DeviceID') : undefined,
      serialNumber: isOwn('device') ? ownText(record, 'SerialNumber') : ofDevice,
      email: (isOwn('user') ? ownText(record, 'Email') : ofOwner)?.toLowerCase(),
      serviceId: rule.subject === 'service' ? ownText(record, 'ServiceID') : undefined,
      serviceName: rule.subject === 'service' ? ownText(record, 'ServiceName') : undefined,
      type: isSignal ? event.type : text('type'),
      subType: text('sub_type'),
      action: text('action'),
      severity: text('severity'),
      result: text('result'),
      body,
    };
  });
}

function canBeUnknown(expression: Expression): boolean {
  if (expression.op === 'fact' || expression.op === 'item') return true;
  const { isDoubtful, looksIn } = expression.op === 'call' ? expression.operator : {};
  if (isDoubtful || (looksIn && readsVirtual(expression))) return true;
  return partsOf(expression).some(canBeUnknown);
}

/** `missing` of a part of `$owners`, `$devices` or `$spec` is unknown while these are. */
function readsVirtual(paths: Expression): boolean {
  if (paths.op === 'literal') return typeof paths.value === 'string' && paths.value.startsWith('$');
  return partsOf(paths).some(readsVirtual);
}

// Small changes to a rule's condition, each of which some test of the rule should notice.

interface Mutant {
  description: string;
  rule: LoadedRule;
}

const MUTANTS_MAX = 400;

/** One after the other, as they are asked for. */
function* mutantsOf(rule: LoadedRule, language: Language): Generator<Mutant> {
  const edits = [
    ...editsOfWritten(rule.when, 'values', language).map(({ description, value }) => ({
      description,
      changes: { when: value } as Facts,
    })),
    ...freshEdits(rule.raw),
  ];
  for (const { description, changes } of edits.slice(0, MUTANTS_MAX)) {
    const changed = withChanges(rule, changes, language);
    if (changed) yield { description, rule: changed };
  }
}

function freshEdits(raw: Facts): { description: string; changes: Facts }[] {
  const fresh = raw.fresh;
  if (!isFacts(fresh)) return [];
  return Object.entries(fresh).flatMap(([path, written]) => {
    const { [path]: _, ...others } = fresh;
    const ms = typeof written === 'string' ? parseDuration(written) : undefined;
    const half =
      ms === undefined
        ? []
        : [
            {
              description: `fresh ${path}: ${written} → half`,
              changes: { fresh: { ...fresh, [path]: formatDuration(ms / 2) } },
            },
          ];
    return [{ description: `fresh ${path}: ${written} → left out`, changes: { fresh: others } }, ...half];
  });
}

/** All single changes of a condition. Each operator has its own. */
function editsOfWritten(value: Fact, texts: 'values' | 'paths', language: Language): Edit[] {
  const editsOf: EditsOf = (inner, innerTexts) => editsOfWritten(inner, innerTexts, language);
  if (Array.isArray(value)) return listEdits(value, texts, editsOf);
  if (!isFacts(value)) return texts === 'paths' ? [] : literalEdits(value);
  const name = Object.keys(value)[0];
  if (name === undefined) return [];
  const written = value[name] as Fact;
  const form = language.get(name);
  const swaps = (form?.swaps ?? []).map(
    (other): Edit => ({ description: `${name} → ${other}`, value: { [other]: written } }),
  );
  const inner = form?.innerEdits ? form.innerEdits(written, editsOf) : editsOf(written, 'values');
  return [...swaps, ...(form?.edits?.(written, name) ?? []), ...within(inner, (part) => ({ [name]: part }))];
}

function listEdits(list: Fact[], texts: 'values' | 'paths', editsOf: EditsOf): Edit[] {
  const isValues =
    texts === 'values' && list.length > 1 && list.every((item) => typeof item === 'string' || typeof item === 'number');
  const shorter = isValues
    ? list.map((item, index) => ({ description: `${String(item)} left out`, value: list.toSpliced(index, 1) }))
    : [];
  const changed = list.flatMap((item, index) => within(editsOf(item, texts), (edited) => list.with(index, edited)));
  return [...shorter, ...changed];
}

// The answer of json-logic-js to a rule test whose data is complete.

interface Replacement {
  place: Place;
  value: Fact;
}

/** The answer of json-logic-js, or undefined. */
function secondOpinion(judged: Judged): boolean | undefined {
  const { rule, frame, verdict } = judged;
  if (verdict === 'unknown' || verdict === 'error') return undefined;
  const isWhole = rule.slots.every((slot) => {
    const value = slotValue(slot, frame);
    return value !== undefined && !(value instanceof Unknown) && !(value instanceof Span);
  });
  if (!isWhole) return undefined;
  const { condition, raw } = rule.rule;
  const replacements: Replacement[] = [];
  if (!collect(condition, false, judged, replacements)) return undefined;
  let when = raw.when as Fact;
  for (const { place, value } of replacements) when = replaced(when, place.slice(1), value);
  when = inOldWords(when);
  const text = JSON.stringify(when, (_, part) => (typeof part === 'bigint' ? Number(part) : part));
  if (text.includes('"log"')) return undefined; // json-logic-js would print
  const data: { [key: string]: unknown } = { ...frame.record, $now: frame.nowMs };
  for (const name of ['$owners', '$devices', '$spec']) {
    if (text.includes(`"${name}`)) data[name] = virtualOf(frame, name);
  }
  const { given } = rule.rule;
  const rowsOf = (of?: Facts) =>
    Object.fromEntries(given.map(({ name }) => [name, frame.readVirtual(`${GIVEN}.${name}`, frame, of)]));
  if (given.length > 0) data[GIVEN] = rowsOf();
  for (const name of ['$owners', '$devices'])
    if (given.length > 0 && Array.isArray(data[name]))
      data[name] = (data[name] as Facts[]).map((one) => ({ ...one, [GIVEN]: rowsOf(one) }));
  return jsonLogic.truthy(jsonLogic.apply(when as RulesLogic, data)) as boolean;
}

/** Notes what json-logic-js cannot evaluate itself, with its value; false when that depends on an element. */
function collect(expression: Expression, inElement: boolean, judged: Judged, found: Replacement[]): boolean {
  if (isForeign(expression)) {
    if (inElement) return false;
    const { compiler } = judged.program;
    const value = compiler.value(expression)(judged.frame);
    if (value instanceof Unknown || value instanceof Span) return false;
    // An expression's place names its operator, which stands inside the operation.
    found.push({ place: expression.place.slice(0, -1), value });
    return true;
  }
  if (expression.op === 'list' && expression.name !== undefined) {
    const { entries } = judged.rule.rule.lists.find(({ name }) => name === expression.name) as NamedList;
    found.push({ place: expression.place, value: [...entries] });
    return true;
  }
  if (expression.op === 'literal' && expression.text !== undefined) {
    found.push({ place: expression.place, value: expression.value });
    return true;
  }
  const body = expression.op === 'call' ? expression.operator.body?.arg : undefined;
  return partsOf(expression).every((part, index) => collect(part, inElement || index === body, judged, found));
}

function isForeign(expression: Expression): boolean {
  if (expression.op === 'fact') return expression.fact.kind !== 'path';
  if (expression.op === 'item') return expression.counts !== undefined;
  return expression.op === 'call' && expression.operator.isForeign === true;
}

/** In the words of json-logic-js. */
function inOldWords(when: Fact): Fact {
  if (Array.isArray(when)) return when.map(inOldWords);
  if (!isFacts(when)) return when;
  const [name = '', ...others] = Object.keys(when);
  const asIfOld = others.length === 0 ? LANGUAGE.get(name)?.asIfOld : undefined;
  if (asIfOld) return asIfOld(when[name] as Fact);
  return Object.fromEntries(Object.entries(when).map(([each, inner]) => [each, inOldWords(inner)]));
}

function replaced(value: Fact, place: Place, by: Fact): Fact {
  const [step, ...rest] = place;
  if (step === undefined) return by;
  if (Array.isArray(value)) return value.with(Number(step), replaced(value[Number(step)] as Fact, rest, by));
  if (isFacts(value)) return { ...value, [step]: replaced(value[step] as Fact, rest, by) };
  return by;
}

/** Rule tests are judged at this time unless another is given: 2026-01-15T12:00:00Z. */
const TEST_NOW_MS = 1_768_478_400_000;

export interface TestReport {
  ok: boolean;
  rules: RuleTestReport[];
  passed: number;
  failed: number;
}

interface TestOptions {
  nowMs?: number;
  /** Also find the changes of a rule that no test notices. */
  mutate?: boolean;
  /** The operators that the rules can use; the shipped ones by default. */
  language?: Language;
}

export function runRuleTests(rules: readonly LoadedRule[], options: TestOptions = {}): TestReport {
  const reports = rules.map((rule) => {
    const steps = testRule(rule, options);
    let step = steps.next();
    while (!step.done) step = steps.next();
    return step.value;
  });
  const tests = reports.flatMap((report) => report.tests);
  const passed = tests.filter((test) => test.ok).length;
  return { ok: reports.every((report) => report.ok), rules: reports, passed, failed: tests.length - passed };
}

/** The rules that fail some of their own tests, and how many. */
export function failingRules({ rules }: TestReport): { rule: string; failed: number; of: number }[] {
  return rules
    .map(({ rule, tests }) => ({ rule, failed: tests.filter(({ ok }) => !ok).length, of: tests.length }))
    .filter(({ failed }) => failed > 0);
}

/** The same report of one rule, with others given way to between two tests and two mutants. */
export async function testRuleInTurns(rule: LoadedRule, options: TestOptions = {}): Promise<RuleTestReport> {
  const steps = testRule(rule, options);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    await giveWay();
  }
}

/** Each step is short: a test, or a mutant over all tests. */
function* testRule(
  rule: LoadedRule,
  { nowMs = TEST_NOW_MS, mutate = false, language = LANGUAGE }: TestOptions,
): Generator<void, RuleTestReport> {
  const atoms = new Map<string, AtomCoverage>();
  const judge = prepareRule(rule, (expression, truth) => note(atoms, expression, truth));
  const judged: Judged[] = [];
  const tests: TestResult[] = [];
  for (const test of rule.tests) {
    const { record, events, context, past } = arrangeTest(rule, test, nowMs);
    const one = judge(record, events, context, past);
    judged.push(one);
    tests.push(resultOf(test, one));
    yield;
  }
  const mutants = mutate ? yield* tryMutants(rule, judged, nowMs, language) : undefined;
  const survivors = rule.tests.length === 0 ? [] : (mutants?.survivors ?? []);
  const unnoticed = survivors.map((survivor) => `no test notices: ${survivor}`);
  const problems = [...(yield* problemsOf(rule, judged, nowMs)), ...unnoticed];
  const coverage = [...atoms.values()];
  return {
    rule: rule.id,
    file: rule.file,
    ok: problems.length === 0 && tests.every((test) => test.ok),
    tests,
    problems,
    coverage,
    coveredPercent: percentOf(coverage),
    mutants,
  };
}

function note(atoms: Map<string, AtomCoverage>, expression: Expression, truth: number): void {
  const key = keyOf(expression);
  let atom = atoms.get(key);
  if (!atom) {
    atom = {
      text: textOf(expression),
      seenTrue: false,
      seenFalse: false,
      seenUnknown: canBeUnknown(expression) ? false : 'never',
    };
    atoms.set(key, atom);
  }
  if (truth === TRUE) atom.seenTrue = true;
  else if (truth === FALSE) atom.seenFalse = true;
  else atom.seenUnknown = true;
}

function resultOf(test: RuleTest, judged: Judged): TestResult {
  const got = judged.verdict;
  const message = failureOf(test, judged);
  return { name: test.name, line: test.line, expected: test.expect, got, ok: message === undefined, message };
}

function failureOf(test: RuleTest, judged: Judged): string | undefined {
  if (judged.verdict !== test.expect) {
    const why = judged.missing.length > 0 ? ` (${judged.program.reasons.of(judged.truth).text})` : '';
    return `expected ${test.expect}, got ${judged.verdict}${why}`;
  }
  const absent = test.reasons.filter((reason) => !judged.missing.includes(reason));
  if (absent.length > 0) {
    return `expected the reason ${absent.map((each) => `\`${each}\``).join(', ')}, got ${judged.missing.map((each) => `\`${each}\``).join(', ') || 'none'}`;
  }
  const opinion = secondOpinion(judged);
  if (opinion === undefined || opinion === (judged.verdict === 'match')) return undefined;
  return `json-logic-js disagrees: it gives ${opinion ? 'match' : 'no_match'}`;
}

function* problemsOf(rule: LoadedRule, judged: readonly Judged[], nowMs: number): Generator<void, string[]> {
  const first = judged[0];
  if (!first) return ['the rule has no tests'];
  if (!rule.tests.some((test) => test.expect === 'match'))
    return ['no test expects `match`: that the rule ever acts is not tested'];
  const differ = judged.some((each) => each.verdict !== first.verdict);
  if (differ || !isFlippable(rule)) return [];
  for (const test of rule.tests) {
    yield;
    if (hasFlip(rule, test, nowMs)) return [];
  }
  return [`its tests cannot fail: no change of facts was found that gives another verdict than ${first.verdict}`];
}

function hasFlip(rule: LoadedRule, test: RuleTest, nowMs: number): boolean {
  const { record, events, context, past } = arrangeTest(rule, test, nowMs);
  return findFlips(rule, record, prepareRule(rule)(record, events, context, past)).length > 0;
}

/** Whether flips can be found for everything that the rule reads. Elements, joined records and the time of the run are not changed. */
function isFlippable(rule: LoadedRule): boolean {
  let flippable = true;
  walk(rule.condition, (part) => {
    if (part.op === 'now' || (part.op === 'call' && part.operator.body)) flippable = false;
    if (part.op === 'fact' && part.fact.label.startsWith('$')) flippable = false;
  });
  return flippable;
}

/** Survivors are the mutants that give every test the same verdict. */
function* tryMutants(
  rule: LoadedRule,
  judged: readonly Judged[],
  nowMs: number,
  language: Language,
): Generator<void, { tried: number; survivors: string[] }> {
  const arranged = rule.tests.map((test) => arrangeTest(rule, test, nowMs));
  const found = { tried: 0, survivors: [] as string[] };
  for (const mutant of mutantsOf(rule, language)) {
    const judge = prepareRule(mutant.rule);
    const survives = arranged.every(
      ({ record, events, context, past }, index) =>
        judge(record, events, context, past).verdict === judged[index]?.verdict,
    );
    found.tried += 1;
    if (survives) found.survivors.push(mutant.description);
    yield;
  }
  return found;
}

function percentOf(coverage: readonly AtomCoverage[]): number {
  const seen = coverage.flatMap(({ seenTrue, seenFalse, seenUnknown }) =>
    seenUnknown === 'never' ? [seenTrue, seenFalse] : [seenTrue, seenFalse, seenUnknown],
  );
  if (seen.length === 0) return 0;
  return Math.floor((100 * seen.filter(Boolean).length) / seen.length);
}

// A report of rule tests as text for people, as JSON, and as JUnit XML for CI. In: the report. Out: text.

type TestReportFormat = 'text' | 'json' | 'junit';

export function formatTestReport(report: TestReport, format: TestReportFormat): string {
  switch (format) {
    case 'json':
      return `${JSON.stringify(report, null, 2)}\n`;
    case 'junit':
      return junit(report);
    case 'text':
      return text(report);
  }
}

function text(report: TestReport): string {
  const lines = report.rules.flatMap(ruleLines);
  const rules = `${report.rules.length} rule${report.rules.length === 1 ? '' : 's'}`;
  return `${[...lines, `${report.passed} passed, ${report.failed} failed, ${rules}: ${summary(report)}`].join('\n')}\n`;
}

/** The report is "all well" only when tests saw every condition with every value. */
function summary(report: TestReport): string {
  const faulty = report.rules.filter((rule) => !rule.ok).map((rule) => rule.rule);
  const uncovered = report.rules
    .filter((rule) => rule.ok && rule.coveredPercent < 100)
    .map((rule) => `${rule.rule} (${rule.coveredPercent} %)`);
  const parts = [
    ...(faulty.length > 0 ? [`not well: ${faulty.join(', ')}`] : []),
    ...(uncovered.length > 0 ? [`conditions not all covered: ${uncovered.join(', ')}`] : []),
  ];
  return parts.length > 0 ? parts.join('; ') : 'all well';
}

function ruleLines(rule: RuleTestReport): string[] {
  const lines = [
    `${rule.ok ? 'ok  ' : 'FAIL'} ${rule.rule}  (${rule.file}, conditions covered ${rule.coveredPercent} %)`,
  ];
  for (const test of rule.tests) {
    lines.push(`  ${test.ok ? 'ok  ' : 'FAIL'} ${test.name}`);
    if (test.message) lines.push(`       ${rule.file}:${test.line}: ${test.message}`);
  }
  for (const problem of rule.problems) lines.push(`  FAIL ${problem}`);
  for (const atom of rule.coverage) {
    const unseen = unseenOf(atom);
    if (unseen.length > 0) lines.push(`  never ${unseen.join(' or ')} in a test: ${atom.text}`);
  }
  if (rule.mutants) lines.push(`  ${rule.mutants.tried} mutants, ${rule.mutants.survivors.length} unnoticed`);
  return [...lines, ''];
}

function junit(report: TestReport): string {
  const suites = report.rules.map((rule) => {
    const cases = [
      ...rule.tests.map((test) => testCase(rule, test.name, test.message)),
      ...rule.problems.map((problem) => testCase(rule, 'the tests as a whole', problem)),
    ];
    const failures = rule.tests.filter((test) => !test.ok).length + rule.problems.length;
    return `  <testsuite name="${escaped(rule.rule)}" tests="${cases.length}" failures="${failures}">\n${cases.join('\n')}\n  </testsuite>`;
  });
  const problems = report.rules.flatMap((rule) => rule.problems).length;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites tests="${report.passed + report.failed + problems}" failures="${report.failed + problems}">\n${suites.join('\n')}\n</testsuites>\n`;
}

function testCase(rule: RuleTestReport, name: string, failure: string | undefined): string {
  const start = `    <testcase classname="${escaped(rule.rule)}" name="${escaped(name)}" file="${escaped(rule.file)}"`;
  return failure === undefined
    ? `${start}/>`
    : `${start}>\n      <failure message="${escaped(failure)}"/>\n    </testcase>`;
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' };

/** XML cannot hold control characters at all, not even escaped. */
function escaped(value: string): string {
  return Array.from(value, (character) => (character < ' ' ? ' ' : (ENTITIES[character] ?? character))).join('');
}
