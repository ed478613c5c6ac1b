// report, HTML: one file with everything, that needs nothing from outside, and runs nothing but its own script.
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { buildReport } from '../../../src/faces/report/build-report.ts';
import { reportHtmlPieces } from '../../../src/faces/report/html/picture.tsx';
import { writeReport } from '../../../src/faces/report/index.ts';
import { addRun, decision, openStore, type RunFill } from '../../support/filled-store.ts';
import { hostileText } from './hostile.ts';

async function htmlOf(fill: RunFill): Promise<string> {
  const store = openStore();
  return [...reportHtmlPieces(await buildReport(store, await addRun(store, fill)))].join('');
}

const many = (count: number) =>
  Array.from({ length: count }, (_, at) => {
    const id = `d${String(at).padStart(5, '0')}`;
    return decision({ id, target: `S-${id}`, subject: { kind: 'device', id }, subjectName: `Laptop ${id}` });
  });

it('a file has every decision, also of a large group, which is folded at first', async () => {
  const html = await htmlOf({ decisions: many(300) });
  expect(new Set(html.match(/S-d\d{5}/g)).size).toBe(300);
  expect(html).toMatch(/<details data-group id="[^"]*"><summary>/);
  expect(html).toContain('On paper: the first 100 of 300 rows.');
});

it('a file refers to nothing outside, and its policy names the bytes of its style and script', async () => {
  const html = await htmlOf({ decisions: many(2) });
  expect(html).not.toMatch(/\s(src|action)=|href="(?!#)|url\(|@import|https?:\/\//);
  const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html)?.[1]?.replaceAll('&#39;', "'");
  const hash = (tag: string) => {
    const [whole, inner] = new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(html) ?? [];
    expect(whole).toBeDefined();
    return `'sha256-${createHash('sha256')
      .update(inner as string)
      .digest('base64')}'`;
  };
  expect(policy).toBe(
    `default-src 'none'; script-src ${hash('script')}; style-src ${hash('style')}; base-uri 'none'; form-action 'none'`,
  );
});

it('hostile names add no element, no attribute and no hidden character', async () => {
  const tagsOf = (html: string) => html.replace(/<(style|script)>[\s\S]*?<\/\1>/g, '').match(/<[^>]*>/g) ?? [];
  const shapeOf = (html: string) => tagsOf(html).map((tag) => tag.replace(/="[^"]*"/g, ''));
  const fill = (text: string): RunFill => ({
    decisions: [
      decision({
        subject: { kind: 'device', id: 'x' },
        subjectName: `name ${text}`,
        target: `${text}!`,
        reasonText: text,
      }),
    ],
  });
  const plain = shapeOf(await htmlOf(fill('plain')));
  // A subject without a name, or named as its id, is shown by its id alone.
  const named = hostileText.filter((text) => text !== '' && text !== 'x');
  await fc.assert(
    fc.asyncProperty(named, async (text) => {
      const html = await htmlOf(fill(text));
      expect(shapeOf(html)).toEqual(plain);
      expect(html.replace(/<(style|script)>[\s\S]*?<\/\1>/g, '')).not.toMatch(/(?!\n|\u200c|\u200d)[\p{Cc}\p{Cf}]/u);
    }),
    { numRuns: 20 },
  );
});

it('a large file is written in turns', async () => {
  const store = openStore();
  const run = await addRun(store, { decisions: many(1_000) });
  let chunks = 0;
  for await (const _ of writeReport(store, run, 'html')) chunks += 1;
  expect(chunks).toBeGreaterThan(10);
});
