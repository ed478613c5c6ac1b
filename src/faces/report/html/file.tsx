// report: an HTML report as one file that can be mailed, read without a network, and printed: its head, its style, its policy. In: a title,
// and the pieces between `<main>` and `</main>`. Out: pieces. INVARIANT: nothing in it leads outside, and its policy allows only the style
// and the script that it has.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { showHidden } from '../fact-text.ts';

const assetText = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8');

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
export function filePolicy(): string {
  return assets().policy;
}

/** `before`: what stands above the main part, as HTML. */
export function* filePieces(title: string, main: Iterable<string>, before = ''): Generator<string> {
  const { style, script, policy } = assets();
  const head = (
    <head>
      <meta charset="utf-8" />
      <meta http-equiv="Content-Security-Policy" content={policy} />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <meta name="referrer" content="no-referrer" />
      <title>{showHidden(title)}</title>
    </head>
  );
  // The style and the script stand as they are: their bytes are what the policy names.
  yield `<!DOCTYPE html>\n<html lang="en">${String(head).replace('</head>', '')}<style>${style}</style></head><body>`;
  yield `${before}<main id="main">`;
  yield* main;
  yield `</main><script>${script}</script></body></html>\n`;
}
