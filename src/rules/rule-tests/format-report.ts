// rules: a report of rule tests as text for people, as JSON, and as JUnit XML for CI. In: the report. Out: text.
import { type RuleTestReport, unseenOf } from '../../domain/verdict.ts';
import type { TestReport } from './run-tests.ts';

export type TestReportFormat = 'text' | 'json' | 'junit';

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
