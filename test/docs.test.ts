// docs: what the documentation names exists, and its links lead somewhere. walks.slow.test.ts runs its commands.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { HELP_GROUPS } from '../src/faces/cli/grammar/groups.ts';
import { buildProgram } from '../src/faces/cli/program.ts';
import { ROOT } from './support/built.ts';
import { openEndpoint } from './support/endpoint.ts';
import { mistakeIn, words } from './support/grammar.ts';
import { command } from './support/in-process.ts';
import { namesRead } from './support/settings.ts';

const PAGES = [
  'README.md',
  'SECURITY.md',
  'CHANGELOG.md',
  'AGENTS.md',
  ...foldersOf('docs'),
  ...foldersOf('docs/decisions'),
];

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

function foldersOf(folder: string): string[] {
  return readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);
}

/** The rows of each table, as GFM reads them: an empty line ends one. */
function tablesOf(text: string): string[][] {
  return [...text.matchAll(/(?:^ *\|.*$\n?)+/gm)].map(([table]) => table.trimEnd().split('\n'));
}

function faultsOf(page: string, [head = '', rule = '', ...rows]: string[]): string[] {
  const cells = (row: string) => row.trim().match(/(?<!\\)\|/g)?.length;
  const isRule = /^ *(\| *:?-+:? *)+\|$/.test(rule) && cells(rule) === cells(head);
  if (!isRule) return [`${page}: ${head}`];
  return rows.filter((row) => cells(row) !== cells(head)).map((row) => `${page}: ${row}`);
}

function section(text: string, heading: string): string {
  return text.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
}

function all(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map((match) => match[1] as string);
}

const sorted = (names: Iterable<string>) => [...new Set(names)].sort();

describe('names in tables', () => {
  const configured = namesRead();

  it('of configuration are those that are read, each once in the table', () => {
    const rows = read('docs/configuration.md')
      .split('\n')
      .filter((line) => line.startsWith('| `'));
    const named = rows.flatMap((row) => all(row.split('|')[1] ?? '', /`(TRUSTWARD_\w+)`/g));
    expect([...named].sort()).toEqual(configured);
  });

  it('of configuration are the only ones in any page', () => {
    for (const page of PAGES)
      expect(configured, page).toEqual(
        expect.arrayContaining(sorted(all(read(page), /\b(TRUSTWARD_[A-Z_]*[A-Z])\b/g))),
      );
  });

  it('of HTTP routes are those that are served', () => {
    const rows = all(read('docs/http.md'), /\| `((?:GET|POST|PUT|PATCH|DELETE) [^`]+)` \|/g);
    const signals = { receive: () => Promise.reject(new Error('nothing is sent')) };
    const served = openEndpoint({ signals }).app.routes.filter(
      ({ method, path }) => method !== 'ALL' && !path.includes('*'),
    );
    expect([...rows].sort()).toEqual(sorted(served.map(({ method, path }) => `${method} ${path}`)));
  });

  it('of commands are those that there are', async () => {
    const cells = read('docs/commands.md')
      .split('\n')
      .map((line) => (line.startsWith('| `') ? line.split(' | ')[0] : ''));
    const named = all(cells.join('\n'), /`([a-z]+(?:[ -][a-z-]+)*)[^`]*`/g);
    const names = await commandsOf();
    const nested = await Promise.all(names.map(async (name) => [name, await commandsOf(name)] as const));
    const known = nested.flatMap(([name, children]) =>
      children.length > 0 ? children.map((child) => `${name} ${child}`) : [name],
    );
    known.push('console'); // runs by itself, and has a command for its keys
    expect(sorted(named)).toEqual(sorted(known));
  });

  it('of shipped rules are the files of the rules folder', () => {
    const shipped = readdirSync(join(ROOT, 'rules')).filter((name) => name.endsWith('.yaml'));
    const rows = all(section(read('README.md'), 'Rules'), /\| `([a-z-]+)` \| `/g);
    expect(sorted(rows)).toEqual(sorted(shipped.map((name) => name.replace('.yaml', ''))));
  });
});

/** Command lines of Trustward in a page: in blocks of a shell, and in backticks. */
function commandLines(page: string): string[] {
  const text = read(page);
  const blocks = all(text, /```sh[^\n]*\n([\s\S]*?)```/g).flatMap((block) =>
    block
      .replace(/\\\n/g, ' ')
      .split('\n')
      .map((line) => line.replace(/(^|\s)#.*/, '')),
  );
  const quoted = all(withoutExamples(text), /`([^`\n]+)`/g);
  const parts = [...blocks, ...quoted].flatMap((line) => line.split(/\$\(|&&|\|\||[|;] /));
  return parts.flatMap((part) => /^ *(?:\w+=\S+ +)*(?:\S*\/)?trustward +((?!:)\S.*)$/.exec(part)?.[1] ?? []);
}

const SOURCES = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => `src/${name}`);

/** In backticks, within texts of a source. What is put in is some word; a line that begins with it names no command. */
function printedLines(source: string): string[] {
  if (!read(source).includes('`trustward ')) return [];
  const lines: string[] = [];
  const visit = (node: ts.Node): void => {
    const text = ts.isTemplateExpression(node)
      ? [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join('X')
      : ts.isStringLiteralLike(node)
        ? node.text
        : '';
    lines.push(...all(text, /`trustward ([^`X][^`]*)`/g));
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(source, read(source), ts.ScriptTarget.Latest, true));
  return lines;
}

describe('commands in pages and in what the program prints', () => {
  it('never go through npx: it would ask a public registry for a name that is not ours', () => {
    const texts = [...PAGES, ...SOURCES, 'compose.yaml', 'Dockerfile'];
    expect(texts.filter((file) => /npx( -\S+)* trustward/.test(read(file)))).toEqual([]);
  });

  it('exist, with their options', async () => {
    const found = [
      ...PAGES.flatMap((file) => commandLines(file).map((line) => ({ file, line }))),
      ...SOURCES.flatMap((file) => printedLines(file).map((line) => ({ file, line }))),
    ];
    const mistakes: string[] = [];
    for (const { file, line } of found) {
      const mistake = await mistakeIn(words(line.replace(/\)*$/, '').replace(/[<>].*$/, '')));
      if (mistake !== undefined) mistakes.push(`${file}: trustward ${line}: ${mistake}`);
    }
    expect(found.length).toBeGreaterThan(300);
    expect(mistakes).toEqual([]);
  });
});

it('the rule of the page First rule loads, and its tests cover it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'trustward-first-rule-'));
  const [rule = ''] = all(read('docs/first-rule.md'), /```yaml\n([\s\S]*?)```/g);
  writeFileSync(join(folder, 'report-old-macos.yaml'), rule);
  const { code, out } = await command(['rules', 'test', '--mutate', '--rules', folder], {});
  rmSync(folder, { recursive: true });
  expect([code, out]).toEqual([0, expect.stringMatching(/conditions covered 100 %[\s\S]* mutants, 0 unnoticed/)]);
});

/** The commands, or those within one, as the help lists them. */
async function commandsOf(...within: string[]): Promise<string[]> {
  const parts: string[] = [];
  const out = (text: string) => {
    parts.push(text);
  };
  await buildProgram({ env: {}, out, err: () => {}, untilStopped: async () => {} })([...within, '--help']);
  const titles = ['Commands:', ...HELP_GROUPS.map(([title]) => title)];
  const groups = parts
    .join('')
    .split('\n\n')
    .filter((part) => titles.includes(part.split('\n')[0] as string));
  const listed = all(groups.join('\n'), /^ {2}([a-z-]+)/gm);
  return listed.filter((name) => name !== 'help');
}

describe('pages', () => {
  it('lead somewhere that is not there', () => {
    const broken = PAGES.flatMap((page) => {
      const links = all(withoutExamples(read(page)), /\]\(([^)\s]+)\)/g).filter((link) => !/^https?:/.test(link));
      return links.filter((link) => !leadsSomewhere(page, link)).map((link) => `${page}: ${link}`);
    });
    expect(broken).toEqual([]);
  });

  it('have a table that does not render: without its rule line, or with a row of more or fewer cells than its head', () => {
    const cut = PAGES.flatMap((page) => tablesOf(withoutExamples(read(page))).flatMap((rows) => faultsOf(page, rows)));
    expect(cut).toEqual([]);
  });

  it('name a file that is not there', () => {
    const missing = PAGES.flatMap((page) => {
      const files = all(read(page), /`((?:src|test|docs|rules|bench)\/[\w./-]+)`/g);
      return files.filter((file) => !existsSync(join(ROOT, file))).map((file) => `${page}: ${file}`);
    });
    expect(missing).toEqual([]);
  });

  it('of failure modes name a test that is not there', () => {
    const text = read('docs/failure-modes.md');
    const cells = [...text.matchAll(/`(test\/[\w./-]+)`: ((?:\*[^*]+\*(?:, )?)+)/g)];
    const titles = new Map<string, Title[]>();
    const missing = cells.flatMap(([, file = '', named = '']) => {
      const known = titles.get(file) ?? (existsSync(join(ROOT, file)) ? titlesIn(file) : []);
      titles.set(file, known);
      return all(named, /\*([^*]+)\*/g)
        .filter((title) => !known.some((one) => one.source === title || one.pattern.test(title)))
        .map((title) => `${file}: ${title}`);
    });
    expect(cells).toHaveLength(all(text, /(`test\/)/g).length);
    expect(cells.length).toBeGreaterThan(100);
    expect(missing).toEqual([]);
  });

  it('of failure modes have a fault without an outcome or without a test', () => {
    const [faults = ''] = read('docs/failure-modes.md').split('\n## What remains possible');
    const rows = faults.split('\n').filter((line) => /^\| (?!fault \|)/.test(line));
    expect(rows.length).toBeGreaterThan(60);
    expect(rows.filter((row) => !/^\| [^|]+ \| [^|]+ \| `test\/[^|]+ \|$/.test(row))).toEqual([]);
  });
});

interface Title {
  source: string;
  pattern: RegExp;
}

/** What stands in quotes in a file, so neither comments nor parts of a title. A title of cases also counts with their names in it. */
function titlesIn(file: string): Title[] {
  const titles: Title[] = [];
  const add = (source: string) => {
    const parts = source.split(/%[sijdo]|\$\{[^}]*\}|\$[a-z]+/);
    const fixed = parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    titles.push({ source, pattern: parts.join('').length < 10 ? /(?!)/ : new RegExp(`^${fixed.join('.+')}$`) });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node)) add(node.text);
    else if (ts.isTemplateExpression(node)) add(node.getText().slice(1, -1));
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true));
  return titles;
}

function withoutExamples(text: string): string {
  return text.replace(/```[\s\S]*?```/g, '');
}

/** A file that exists, and in it a heading for what stands behind `#`. */
function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#');
  const file = path === '' ? join(ROOT, page) : resolve(ROOT, dirname(page), path);
  if (!existsSync(file)) return false;
  if (anchor === undefined || !file.endsWith('.md')) return true;
  const headings = all(withoutExamples(readFileSync(file, 'utf8')), /^#+ (.+)$/gm);
  return headings
    .map((text) =>
      text
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    )
    .includes(anchor);
}
