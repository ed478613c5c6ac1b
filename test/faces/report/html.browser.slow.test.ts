// The HTML file in a real browser: it opens without a network, under its own policy, folds and filters ten thousand decisions, and prints.
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeReport } from '../../../src/faces/report/index.ts';
import { hasNoBrowser, NEEDS_BROWSER, openPage, startBrowser } from '../../support/browser.ts';
import { addRun, decision, openStore } from '../../support/filled-store.ts';
import { violationsOf } from '../web/axe.ts';

describe.skipIf(hasNoBrowser)(`a report of ten thousand decisions in a browser${NEEDS_BROWSER}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'trustward-html-'));
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true });
  });

  async function fileOf(count: number): Promise<string> {
    const store = openStore();
    const decisions = Array.from({ length: count }, (_, at) => {
      const id = `d${String(at).padStart(5, '0')}`;
      const subject = { kind: 'device', id } as const;
      return decision({ id, rule: `rule-${at % 20}`, target: `S-${id}`, subject, subjectName: `Laptop ${id}` });
    });
    const run = await addRun(store, { decisions });
    const file = join(folder, `report-${count}.html`);
    const chunks: string[] = [];
    for await (const chunk of writeReport(store, run, 'html')) chunks.push(chunk);
    writeFileSync(file, chunks.join(''));
    return file;
  }

  it('opens, is filtered by typing, and asks nobody for anything', async () => {
    const file = await fileOf(10_000);
    const { page, context, complaints } = await openPage(browser);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.goto(pathToFileURL(file).href);
    const loadedMs = await page.evaluate('performance.getEntriesByType("navigation")[0].loadEventEnd');
    process.stdout.write(
      `10,000 decisions: ${statSync(file).size} bytes, open after ${Math.round(Number(loadedMs))} ms\n`,
    );
    await page.getByRole('searchbox').fill('laptop d09999');
    await page.getByText('1 of 10000 rows').waitFor();
    expect(await page.locator('tr[data-row]:visible', { hasText: 'S-d' }).count()).toBe(1);
    expect(asked).toEqual([pathToFileURL(file).href]);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it.each(['light', 'dark'] as const)('has no fault of access, and prints what is folded (%s)', async (colorScheme) => {
    const { page, context, complaints } = await openPage(browser, { colorScheme });
    await page.goto(pathToFileURL(await fileOf(40)).href);
    expect(await violationsOf(page)).toEqual([]);
    await page.evaluate('for (const one of document.querySelectorAll("details")) one.open = false');
    await page.emulateMedia({ media: 'print' });
    expect(await page.locator('tr[data-row]:visible', { hasText: 'S-d' }).count()).toBe(40);
    expect(complaints).toEqual([]);
    await context.close();
  });
});
