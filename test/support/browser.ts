// support: Chromium, as Debian installs it, without a window. In: nothing. Out: a browser for one test file, and pages that fail a test when
// the page complains. Where there is no Chromium, the tests that need it are skipped and say why.
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

const PLACES = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const executablePath = PLACES.find((path) => path !== undefined && path !== '' && existsSync(path));

/** For `describe.skipIf`. */
export const hasNoBrowser = executablePath === undefined;
/** The end of a test's title, so that a skipped one says why. */
export const NEEDS_BROWSER = hasNoBrowser ? ' (SKIPPED: no chromium is installed)' : '';

export async function startBrowser(): Promise<Browser> {
  // A container has no user namespaces for the sandbox, and only our own pages on loopback are opened.
  return chromium.launch({ executablePath: executablePath as string, args: ['--no-sandbox', '--disable-gpu'] });
}

export interface OpenedPage {
  page: Page;
  context: BrowserContext;
  /** Errors of scripts, refusals of the content policy, and failed loads, so far. */
  complaints: string[];
}

export type PageOptions = Parameters<Browser['newContext']>[0];

export async function openPage(browser: Browser, options: PageOptions = {}): Promise<OpenedPage> {
  const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'Europe/Berlin', ...options });
  // A busy machine; a page that never shows what is waited for ends a test all the same.
  context.setDefaultTimeout(100_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    // The icon is asked for by the browser itself, where the next load cut the page short before it named one.
    const { url } = message.location();
    if (message.type() === 'error' && !url.endsWith('/favicon.ico')) complaints.push(`${message.text()} (${url})`);
  });
  return { page, context, complaints };
}
