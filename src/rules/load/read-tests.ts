// rules: the tests in a rule file. In: the file's value, checked by its schema, and the fields that there are. Out: tests to run; problems.
import { didYouMean } from '../../base/nearest-name.ts';
import { parseDuration } from '../../base/time.ts';
import { type Fact, type Facts, isFacts, ownText, showLiteral } from '../../domain/facts.ts';
import type { GivenSource } from '../../domain/given-facts.ts';
import { GIVEN_WORDS } from '../../domain/given-table.ts';
import { SIGNAL_EVENTS, signalEventOf } from '../../domain/signal.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import { unknownSource } from '../check/scope.ts';
import { GIVEN } from '../language/expression.ts';
import { type RuleTest, SAMPLE_NAME } from '../language/loaded-rule.ts';
import type { Place, Problems } from '../language/problem.ts';
import { fieldAt, givenType, type ValueType, virtualType } from '../record-types/field-types.ts';
import { type KnownTransmitter, signalType } from '../record-types/signal-types.ts';
import type { RuleFile, TestFile } from './rule-text.ts';

export function readTests(file: RuleFile, lineOf: (test: number) => number): RuleTest[] {
  return file.tests.map((test, index) => readTest(test, lineOf(index)));
}

function readTest(test: TestFile, line: number): RuleTest {
  const ms = (duration: string): number => parseDuration(duration) ?? 0;
  const joined = test.owners ?? test.devices;
  return {
    name: test.name,
    given: test.given as Facts,
    joined: joined as Facts[] | undefined,
    events: test.events.map(({ ago, times, of, ...body }) => ({ agoMs: ms(ago), times, of, body: body as Facts })),
    signals: test.signals.map(({ transmitter, event, ago, times, of, ...body }) => ({
      ...{ transmitter, type: signalEventOf(event) ?? event, agoMs: ms(ago), times, of, body: body as Facts },
    })),
    history: test.history.map(({ ago, ...values }) => ({ agoMs: ms(ago), values: values as Facts })),
    gaps: test.gaps.map(({ from, to, transmitter }) => ({ fromAgoMs: ms(from), toAgoMs: ms(to), transmitter })),
    eventsUnavailable: test.unavailable.includes('events'),
    signalsUnavailable: test.signals_unavailable,
    expect: typeof test.expect === 'string' ? test.expect : test.expect.verdict,
    reasons: typeof test.expect === 'string' ? [] : test.expect.reasons,
    nowMs: test.now === undefined ? undefined : Date.parse(test.now),
    line,
  };
}

// Checks the data of a rule's tests: a misspelt field would test nothing, and the test would pass.

/** The fields of the subject and of events, with those that the rule declares. */
interface Declared {
  root: ValueType;
  eventRoot: ValueType;
  /** Of facts from elsewhere. */
  sources: readonly GivenSource[];
  transmitters: ReadonlyMap<string, KnownTransmitter>;
}

/** `lookBack`: the paths that `when` looks back on. */
export function checkTests(
  file: RuleFile,
  subject: SubjectKind,
  { root, eventRoot, transmitters, sources }: Declared,
  lookBack: ReadonlySet<string>,
  problems: Problems,
): void {
  const check = (value: Fact, type: ValueType, place: Place) => {
    const { [GIVEN]: rows, ...own } = isFacts(value) ? value : {};
    if (rows !== undefined) checkRows(rows, sources, [...place, GIVEN], problems);
    checkFields(rows === undefined ? value : own, type, place, problems);
  };
  const names = new Set<string>();
  file.tests.forEach((test, index) => {
    const place: Place = ['tests', index];
    if (names.has(test.name)) problems.add('format', [...place, 'name'], `two tests are named \`${test.name}\``);
    names.add(test.name);
    const { $spec, ...given } = test.given as Facts;
    check(given, root, [...place, 'given']);
    if ($spec !== undefined) checkSpec($spec, subject, [...place, 'given', '$spec'], problems);
    for (const [name, of] of [
      ['owners', 'device'],
      ['devices', 'user'],
    ] as const) {
      if (test[name] === undefined) continue;
      const joined = virtualType(subject, `$${name}`);
      if (joined?.kind === 'list')
        (test[name] as Facts[]).forEach((one, at) => {
          check(one, joined.of, [...place, name, at]);
        });
      else
        problems.add(
          'format',
          [...place, name],
          `\`${name}\` are given to rules over a ${of}; this one is over a ${subject}`,
        );
    }
    test.history.forEach(({ ago: _, ...values }, at) => {
      for (const path of Object.keys(values))
        checkSeen(path, root, lookBack, [...place, 'history', at, path], problems);
    });
    test.events.forEach(({ ago: _, times: __, of, ...body }, at) => {
      if (of !== undefined) checkWhose(of, subject, test, [...place, 'events', at, 'of'], problems);
      check(body as Facts, eventRoot, [...place, 'events', at]);
    });
    const checkSender = (name: string | undefined, at: Place): KnownTransmitter | undefined => {
      const known = name === undefined ? undefined : transmitters.get(name);
      const hint = name === undefined ? '' : didYouMean(name, transmitters.keys());
      if (!known && name !== undefined)
        problems.add('value', at, `\`signals.yaml\` has no transmitter \`${name}\`${hint}`);
      return known;
    };
    test.signals.forEach(({ transmitter, event, ago: _, times: __, of, ...body }, index) => {
      const at = [...place, 'signals', index];
      if (of !== undefined) checkWhose(of, subject, test, [...at, 'of'], problems);
      const sender = checkSender(transmitter, [...at, 'transmitter']);
      const type = signalEventOf(event);
      if (type === undefined || (sender?.events && !sender.events.includes(type))) {
        const hint = didYouMean(event, SIGNAL_EVENTS.keys());
        problems.add('value', [...at, 'event'], `there is no event \`${event}\` of \`${transmitter}\`${hint}`);
      } else if (sender) check(body as Facts, signalType([type], sender), at);
    });
    for (const [at, { transmitter }] of test.gaps.entries())
      checkSender(transmitter, [...place, 'gaps', at, 'transmitter']);
    for (const [at, name] of test.signals_unavailable.entries())
      checkSender(name, [...place, 'signals_unavailable', at]);
  });
}

/** Of each source a row, null for none, or a word for why none counts. */
function checkRows(rows: Fact, sources: readonly GivenSource[], place: Place, problems: Problems): void {
  if (!isFacts(rows)) problems.add('format', place, `expected {SOURCE: {field: …}}, found \`${showLiteral(rows)}\``);
  for (const [name, row] of isFacts(rows) ? Object.entries(rows) : []) {
    const source = sources.find((one) => one.name === name);
    if (!source)
      problems.add(
        'path',
        [...place, name],
        unknownSource(
          name,
          sources.map((one) => one.name),
        ),
      );
    else if (isFacts(row)) checkFields(row, givenType(source), [...place, name], problems);
    else if (row !== null && !GIVEN_WORDS.some((word) => word === row))
      problems.add(
        'value',
        [...place, name],
        `expected a row, null for none, or one of ${GIVEN_WORDS.join(', ')}; found \`${showLiteral(row)}\``,
      );
  }
}

/** An event of nobody would test nothing. */
function checkWhose(of: string, subject: SubjectKind, test: TestFile, place: Place, problems: Problems): void {
  if (subject === 'service') {
    problems.add('format', place, 'a service has no owners or devices: its events are its own');
    return;
  }
  const [kind, key] = subject === 'device' ? (['user', 'Email'] as const) : (['device', 'SerialNumber'] as const);
  const given = (test.owners ?? test.devices ?? [{}]) as Facts[];
  const names = given.flatMap((one, at) => ownText({ [key]: SAMPLE_NAME[kind](at + 1), ...one }, key) ?? []);
  if (names.some((name) => name.toLowerCase() === of.toLowerCase())) return;
  const whose = subject === 'device' ? 'owner of the device' : 'device of the user';
  problems.add('value', place, `no ${whose} in this test is \`${of}\`; known: ${names.join(', ')}`);
}

/** What a run saw of a field that the rule does not look back on would test nothing. */
function checkSeen(path: string, root: ValueType, lookBack: ReadonlySet<string>, place: Place, problems: Problems) {
  if (lookBack.has(path)) return;
  const what = fieldAt(root, path.split('.'))
    ? `\`when\` does not look back on \`${path}\``
    : `there is no field \`${path}\``;
  problems.add('path', place, `${what}${didYouMean(path, lookBack)}`);
}

function checkSpec(spec: Fact, subject: SubjectKind, place: Place, problems: Problems): void {
  const type = virtualType(subject, '$spec');
  if (type) checkFields(spec, type, place, problems);
  else problems.add('path', place, `\`$spec\` is a service's; this rule is over a ${subject}`);
}

function checkFields(value: Fact, type: ValueType, place: Place, problems: Problems): void {
  if (Array.isArray(value) && type.kind === 'list') {
    value.forEach((item, index) => {
      checkFields(item, type.of, [...place, index], problems);
    });
  }
  if (!isFacts(value) || type.kind !== 'record') return;
  for (const [name, inner] of Object.entries(value)) {
    const field = fieldAt(type, [name]);
    if (field) checkFields(inner, field.type, [...place, name], problems);
    else {
      const hint = didYouMean(name, type.fields.keys()) || '; one that your server adds is named in `declares`';
      problems.add('path', [...place, name], `there is no field \`${name}\`${hint}`);
    }
  }
}
