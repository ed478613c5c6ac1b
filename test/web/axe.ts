// The rules of axe over a page as a browser shows it. In: a page. Out: what is wrong, one line each.
import axe from 'axe-core';
import type { Page } from 'playwright-core';

interface Violation {
  id: string;
  nodes: { target: string[]; failureSummary?: string }[];
}

/** The content policy forbids to add a script to a page, also to a test: axe is evaluated instead. */
export async function violationsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const found = await page.evaluate(() => (globalThis as unknown as { axe: { run(): unknown } }).axe.run());
  return (found as { violations: Violation[] }).violations.flatMap(({ id, nodes }) =>
    nodes.map(
      ({ target, failureSummary = '' }) => `${id} at ${target.join(' ')}: ${failureSummary.replace(/\s+/g, ' ')}`,
    ),
  );
}
