// test: style as a test: what every source file is bound to, that the docs name only what is there, and that the import
// rules were really looked at. In: the files as they are. Out: the name of each file, or path, that is not as it should be.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ACTIONS } from '../src/engine/act/actions.ts';

const ROOT = new URL('..', import.meta.url).pathname;
const LINES_MAX = 700;

interface Source {
  path: string;
  text: string;
}

function filesBelow(folder: string, end: RegExp): Source[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => end.test(name))
    .map((name) => join(folder, name))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
}

const sources = filesBelow('src', /\.tsx?$/);
const pathsOf = (found: Source[]) => found.map(({ path }) => path);

/** Each line that holds what is banned, with its place. */
function linesWith(banned: RegExp, allowedIn: readonly string[] = []): string[] {
  return sources
    .filter(({ path }) => !allowedIn.includes(path))
    .flatMap(({ path, text }) =>
      text.split('\n').flatMap((line, index) => (banned.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
    );
}

describe('every source file', () => {
  it('begins with a comment that says what it is', () => {
    expect(pathsOf(sources.filter(({ text }) => !/^(#![^\n]*\n)?\/\/ \S/.test(text)))).toEqual([]);
  });
  it(`has at most ${LINES_MAX} lines`, () => {
    expect(pathsOf(sources.filter(({ text }) => text.trimEnd().split('\n').length > LINES_MAX))).toEqual([]);
  });
  it('is named in kebab-case, after what it holds', () => {
    const odd = sources.filter(({ path }) => !/^[a-z0-9]+(-[a-z0-9]+)*\.tsx?$/.test(basename(path)));
    const vague = sources.filter(({ path }) => /(^|[/-])(utils?|helpers?|common|managers?)([/.-]|$)/.test(path));
    expect(pathsOf([...odd, ...vague])).toEqual([]);
  });
  it.each<[string, RegExp, string[]]>([
    [
      'asks the time of the clock alone',
      /\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b/,
      ['src/runtime/system/clock.ts'],
    ],
    ['has its randomness handed over', /\bMath\.random\b/, []],
    ['writes nothing past the log', /\bconsole\.(log|info|warn|error|debug|trace|dir|table)\(/, []],
    ['leaves nothing for later', /\b(TODO|FIXME|XXX|HACK)\b|\bsimplified\b|\bfor now\b/, []],
    ['has unions for enums and names for its exports', /^\s*(export )?(const )?enum |^export default /, []],
    ['calls nothing a manager or a helper', /\b(class|interface|function|type) \w*(Manager|Helper|Utils?)\b/, []],
    ['lets no type mistake through', /@ts-(ignore|nocheck|expect-error)/, []],
  ])('%s', (_, banned, allowedIn) => {
    expect(linesWith(banned, allowedIn)).toEqual([]);
  });
  it('names no action outside of its own file', () => {
    const endpoints = pathsOf(sources).filter((path) => /^src\/(platform|console)\//.test(path));
    const kinds = ['src/engine/act/notifications.ts', 'src/domain/notification.ts']; // `notify` is the kind of a notification, too
    const own = pathsOf(sources).filter((path) => path.startsWith('src/engine/act/actions/'));
    const name = new RegExp(`['"\`](${[...ACTIONS.keys()].join('|')})\\b`);
    expect(linesWith(name, [...endpoints, ...kinds, ...own])).toEqual([]);
  });
});

describe('the docs', () => {
  const docs = [...(existsSync(join(ROOT, 'README.md')) ? ['README.md'] : []), ...pathsOf(filesBelow('docs', /\.md$/))];
  /** `src/engine/cycle.ts` in backticks, or a link to a file; not what has a placeholder in it. */
  function pathsNamed(doc: string): string[] {
    const text = readFileSync(join(ROOT, doc), 'utf8').replace(/```[\s\S]*?```/g, '');
    const quoted = [...text.matchAll(/`((?:src|test|docs|bench|rules|\.ci)\/[^`\s]*)`/g)].map(
      ([, path]) => path as string,
    );
    const linked = [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
      .map(([, path]) => path as string)
      .filter((path) => !/^[a-z]+:/.test(path))
      .map((path) => join(dirname(doc), path));
    return [...quoted, ...linked].filter((path) => !/[*<>{}…]/.test(path));
  }

  it.skipIf(docs.length === 0)('name only files and folders that are there', () => {
    const missing = docs.flatMap((doc) =>
      pathsNamed(doc)
        .filter((path) => !existsSync(join(ROOT, path)))
        .map((path) => `${doc}: ${path}`),
    );
    expect(missing).toEqual([]);
  });
});

describe('the import rules', () => {
  it('hold, and were held against all of the source rather than against nothing', () => {
    const cruise = ['--config', '.dependency-cruiser.cjs', 'src', '--output-type', 'json'];
    const depcruise = join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
    const answer = execFileSync(process.execPath, [depcruise, ...cruise], {
      cwd: ROOT,
      encoding: 'utf8',
      maxBuffer: 64 * 2 ** 20,
    });
    const { modules, summary } = JSON.parse(answer) as {
      modules: { source: string }[];
      summary: { violations: { rule: { name: string }; from: string; to: string }[] };
    };
    expect(summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`)).toEqual([]);
    const seen = modules.filter(({ source }) => source.startsWith('src/'));
    expect(seen.length).toBeGreaterThan(200);
    expect(seen.length).toBeGreaterThanOrEqual(sources.length);
  });
});

describe('the Dockerfile', () => {
  it('builds and runs on one base image, pinned by digest', () => {
    const images = [...readFileSync(join(ROOT, 'Dockerfile'), 'utf8').matchAll(/^FROM (\S+)/gm)].map(
      ([, image]) => image,
    );
    expect(images.filter((image) => !/^node:24-bookworm-slim@sha256:[0-9a-f]{64}$/.test(image as string))).toEqual([]);
    expect(images).toHaveLength(2);
    expect(new Set(images).size).toBe(1);
  });
});
