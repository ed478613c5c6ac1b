// report: the HTML writer: a run's report as one file that can be mailed, read without a network, and printed. In: a report. Out: pieces of
// bounded work. INVARIANT: nothing in it leads outside, and its policy allows only the style and the script that it has.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { showHidden } from '../../hostile-text.ts';
import type { Report } from '../../report.ts';
import { headline } from '../../words.ts';
import type { Place } from './place.ts';
import { runReportPieces } from './report.tsx';

const assetText = (name: string) => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');

interface Inlined {
  style: string;
  script: string;
  policy: string;
}

let inlined: Inlined | undefined;

function assets(): Inlined {
  if (inlined) return inlined;
  const [style, script] = [assetText('page.css'), assetText('filter.js')];
  const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; base-uri 'none'; form-action 'none'`;
  inlined = { style, script, policy };
  return inlined;
}

/** What the file's own policy is, for whoever serves it. */
export function reportFilePolicy(): string {
  return assets().policy;
}

/** The whole report, with every decision. */
export function* reportHtmlPieces(report: Report): Generator<string> {
  const { style, script, policy } = assets();
  const place: Place = { isPage: false, rowsMax: Number.MAX_SAFE_INTEGER, whole: (decision) => decision };
  const head = (
    <head>
      <meta charset="utf-8" />
      <meta http-equiv="Content-Security-Policy" content={policy} />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <meta name="referrer" content="no-referrer" />
      <title>{showHidden(headline(report))}</title>
    </head>
  );
  // The style and the script stand as they are: their bytes are what the policy names.
  yield `<!DOCTYPE html>\n<html lang="en">${String(head).replace('</head>', '')}<style>${style}</style></head><body>`;
  if (report.run.demo) yield DEMO;
  yield '<main id="main">';
  yield* runReportPieces({ report, place, tools: TOOLS });
  yield `</main><script>${script}</script></body></html>\n`;
}

const DEMO = String(
  <header>
    <div class="demo-line">DEMO: a made-up organization, served by the embedded console</div>
  </header>,
);

const TOOLS = String(
  <div class="tools" hidden>
    <label>
      Rows with
      <input type="search" data-filter="decisions" aria-describedby="decisions-count" />
    </label>
    <span id="decisions-count" aria-live="polite"></span>
  </div>,
);
