// The rules of axe over a page as a browser shows it. In: a page. Out: what is wrong, one line each.
import axe from 'axe-core';
import type { Page } from 'playwright-core';

interface Violation {
  id: string;
  nodes: { target: string[]; failureSummary?: string }[];
}

/** The content policy forbids to add a script to a page, also to a test: axe is evaluated instead. By default all rules are asked. */
export async function violationsOf(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe.source);
  const options = rules ? { runOnly: { type: 'rule', values: [...rules] } } : {};
  const found = await page.evaluate(
    (how) => (globalThis as unknown as { axe: { run(how: object): unknown } }).axe.run(how),
    options,
  );
  return (found as { violations: Violation[] }).violations.flatMap(({ id, nodes }) =>
    nodes.map(
      ({ target, failureSummary = '' }) => `${id} at ${target.join(' ')}: ${failureSummary.replace(/\s+/g, ' ')}`,
    ),
  );
}
