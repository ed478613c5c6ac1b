// web: what the tests inside a rule show: their results, which conditions no test decides, which changes of the rule no test notices. In: the
// report of the tests. Out: a section.

import { type RuleTestReport, unseenOf } from '../../../domain/rule-tests.ts';
import { plural } from '../../../report/fact-text.ts';
import { Link } from '../../../report/html/link.tsx';
import { Mark } from '../../../report/html/marks.tsx';
import { Table } from '../../../report/html/table.tsx';
import { Code, Words } from '../../../report/html/text.tsx';

export function RuleTests({ report }: { report: RuleTestReport }) {
  const { tests, problems, coverage, coveredPercent, mutants } = report;
  const gaps = coverage.map((atom) => ({ text: atom.text, unseen: unseenOf(atom) })).filter((one) => one.unseen.length);
  // They have a section of their own.
  const others = problems.filter((problem) => !mutants?.survivors.some((survivor) => problem.endsWith(survivor)));
  const failed = tests.filter(({ ok }) => !ok).length;
  return (
    <section class="card">
      <h2>Its own tests</h2>
      <p>
        {plural(tests.length - failed, 'test')} passed, {failed} failed. They see {coveredPercent} % of the values that
        its conditions can have.
      </p>
      {others.length === 0 ? null : (
        <div class="notice wait">
          <ul>
            {others.map((problem) => (
              <li>
                <Words>{problem}</Words>
              </li>
            ))}
          </ul>
        </div>
      )}
      <details open={failed > 0}>
        <summary>All {plural(tests.length, 'test')}</summary>
        <Table
          caption="The tests of the rule"
          columns={['Test', 'Result', 'Expected', 'Got', 'Line']}
          rows={tests.map(({ name, ok, expected, got, message, line }) => ({
            cells: [
              <>
                <Words>{name}</Words>
                {message === undefined ? null : (
                  <div class="quiet">
                    <Words>{message}</Words>
                  </div>
                )}
              </>,
              <Mark word={ok ? 'passed' : 'failed'} tone={ok ? 'good' : 'bad'} />,
              expected,
              got,
              <Link href={`#L${line}`}>line {line}</Link>,
            ],
          }))}
          empty="The rule has no tests."
        />
      </details>
      <h3>Conditions that no test decides</h3>
      <Table
        caption="Conditions that tests did not see with each value"
        columns={['Condition', 'Never seen']}
        rows={gaps.map(({ text, unseen }) => ({ cells: [<Code>{text}</Code>, `${unseen.join(' or ')}`] }))}
        empty="None: tests saw each condition with each value that it can have."
      />
      {mutants === undefined ? null : (
        <>
          <h3>Changes of the rule that no test notices</h3>
          <p>
            {plural(mutants.tried, 'small change')} of the condition {mutants.tried === 1 ? 'was' : 'were'} tried
            {mutants.survivors.length === 0 ? ', and tests noticed each.' : ':'}
          </p>
          {mutants.survivors.length === 0 ? null : (
            <ul>
              {mutants.survivors.map((survivor) => (
                <li>
                  <Code>{survivor}</Code>
                </li>
              ))}
            </ul>
          )}
        </>
      )}
    </section>
  );
}
