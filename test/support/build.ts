// support: builds src/ and what tests start as processes, once for a run of the suite, so that no process compiles it again.
// In: the sources as they are. Out: `.test-build/`, laid out as the project is. It never leaves a file whose source was edited.
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { transformWithOxc } from 'vite';
import type { TestProject } from 'vitest/node';
import { BIN, BUILD, built, ROOT } from './built.ts';

/** What src/ reads from the folder above itself. */
const LINKED = ['package.json', 'rules'];
const COMPILED = /\.tsx?$/;
const OPTIONS = {
  target: 'es2023',
  sourcemap: true,
  typescript: { rewriteImportExtensions: true, onlyRemoveTypeImports: true },
  jsx: { runtime: 'automatic', importSource: 'hono/jsx' },
} as const;

/** Vitest calls it before any test, and before each round of a watch. */
export async function setup(project: TestProject): Promise<void> {
  await build();
  project.onTestsRerun(build);
}

async function build(): Promise<void> {
  const sources = filesOf(ROOT).filter((path) => !/\.test\.tsx?$/.test(path));
  for (const path of sources) mkdirSync(dirname(built(path)), { recursive: true });
  for (const name of LINKED) replace(name, (temporary) => symlinkSync(join(ROOT, name), temporary));
  for (const path of sources.filter((name) => !COMPILED.test(name)))
    replace(path, (temporary) => copyFileSync(join(ROOT, path), temporary));
  await compile(sources.filter((path) => COMPILED.test(path)));
  mkdirSync(BIN, { recursive: true });
  replace(relative(BUILD, join(BIN, 'trustward')), (temporary) => symlinkSync(built('src/main.ts'), temporary));
  const wanted = new Set(sources.map((path) => relative(BUILD, built(path))));
  for (const path of filesOf(BUILD)) if (!wanted.has(path)) rmSync(join(BUILD, path), { force: true });
}

/** INVARIANT: a compiled file ends with the hash of its source, so that one that was edited is compiled again. */
async function compile(paths: string[]): Promise<void> {
  const compiler = ['node_modules/vite/package.json', 'test/support/build.ts'].map(textOf).join();
  const due = paths.flatMap((path) => {
    const source = textOf(path);
    const mark = `//# built of ${createHash('sha256').update(compiler).update(source).digest('hex')}\n`;
    return textOf(relative(ROOT, built(path))).endsWith(mark) ? [] : [{ path, source, mark }];
  });
  for (const { path, source, mark } of due) {
    const { code, map } = await transformWithOxc(source, join(ROOT, path), OPTIONS);
    // An error names the line of the source.
    const sources = [relative(dirname(built(path)), join(ROOT, path))];
    const mapped = Buffer.from(JSON.stringify({ ...map, sources, sourcesContent: undefined })).toString('base64');
    const text = `${code}\n//# sourceMappingURL=data:application/json;base64,${mapped}\n${mark}`;
    replace(path, (temporary) => writeFileSync(temporary, text));
  }
}

/** Whole or not at all: another run of the suite may read the file at this moment. */
function replace(path: string, write: (temporary: string) => void): void {
  const temporary = join(BUILD, `.new-${process.pid}`);
  write(temporary);
  renameSync(temporary, built(path));
}

function textOf(path: string): string {
  try {
    return readFileSync(join(ROOT, path), 'utf8');
  } catch {
    return '';
  }
}

/** Of src/ and test/ there, as paths from there. */
function filesOf(root: string): string[] {
  return ['src', 'test'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(root, join(entry.parentPath, entry.name))),
  );
}
