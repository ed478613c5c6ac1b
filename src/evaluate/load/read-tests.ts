// evaluate: the tests of a rule file → tests with times in ms. In: a file of the right format. Out: tests.
import { parseDuration } from '../../domain/duration.ts';
import type { Facts } from '../../domain/facts.ts';
import type { RuleTest } from '../language/loaded-rule.ts';
import type { RuleFile, TestFile } from './rule-format.ts';

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
    events: test.events.map(({ ago, times, ...body }) => ({ agoMs: ms(ago), times, body: body as Facts })),
    history: test.history.map(({ ago, ...values }) => ({ agoMs: ms(ago), values: values as Facts })),
    gaps: test.gaps.map(({ from, to }) => ({ fromAgoMs: ms(from), toAgoMs: ms(to) })),
    eventsUnavailable: test.unavailable.includes('events'),
    expect: typeof test.expect === 'string' ? test.expect : test.expect.verdict,
    reasons: typeof test.expect === 'string' ? [] : test.expect.reasons,
    line,
  };
}
