// test: what may stand in a rules folder: regular files of a bounded number, size and depth. Anything else is refused by
// name, and is never waited for.
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { problemLine } from '../../src/rules/language/problem.ts';
import { loadRules } from '../../src/rules/load/read-rule.ts';
import { TRAITS } from './sample-traits.ts';

let dir: string;
let pipes: string[];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'rule-files-'));
  mkdirSync(join(dir, 'rules'));
  pipes = [];
  writeFileSync(inRules('good.yaml'), `id: good\n${GOOD}`);
});
afterEach(() => {
  pipes.forEach(releaseReaders);
  rmSync(dir, { recursive: true, force: true });
});

const GOOD = 'subject: device\nwhen: { "==": [{ var: MdmData.CompromisedStatus }, "TRUE"] }\nthen: ban_device\n';
const inRules = (name: string) => join(dir, 'rules', name);

function makePipe(path: string): void {
  execFileSync('sh', ['-c', 'mkfifo "$0"', path]);
  pipes.push(path);
}

/** A reader that waits for a writer would keep this process from ending. */
function releaseReaders(path: string): void {
  try {
    closeSync(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK));
  } catch {
    // nobody waits
  }
}

async function lines(): Promise<string[]> {
  const { rules, problems } = await loadRules(join(dir, 'rules'), { traits: TRAITS });
  expect(rules.map(({ id }) => id)).toEqual(['good']);
  return problems.map(problemLine);
}

const NOT_REGULAR = 'it is not a regular file; put the rule into a file, or remove this';

describe('what is not a regular file is refused at once', () => {
  it.each<[string, () => void | Promise<void>]>([
    ['a pipe that nobody writes to', () => makePipe(inRules('odd.yaml'))],
    [
      'a link to a pipe',
      () => {
        makePipe(join(dir, 'pipe'));
        symlinkSync(join(dir, 'pipe'), inRules('odd.yaml'));
      },
    ],
    ['a link to a device', () => symlinkSync('/dev/zero', inRules('odd.yaml'))],
    ['a link to a folder', () => symlinkSync(dir, inRules('odd.yaml'))],
    ['a socket', () => listening(inRules('odd.yaml'))],
  ])('%s', async (_, make) => {
    await make();
    expect(await lines()).toEqual([`odd.yaml:1:1: ${NOT_REGULAR}`]);
  });

  it('a link to itself', async () => {
    symlinkSync('odd.yaml', inRules('odd.yaml'));
    expect(await lines()).toEqual(['odd.yaml:1:1: the file cannot be read (ELOOP)']);
  });
});

describe('a file is read up to 256 KiB', () => {
  it.each([262_145, 2 ** 40])('and refused with %i bytes', async (size) => {
    writeFileSync(inRules('odd.yaml'), '');
    truncateSync(inRules('odd.yaml'), size);
    expect(await lines()).toEqual(['odd.yaml:1:1: the file is larger than 256 KiB; a rule has one file']);
  });

  it('also one whose size is not what the system says', async () => {
    symlinkSync('/proc/kallsyms', inRules('odd.yaml'));
    expect(await lines()).toEqual(['odd.yaml:1:1: the file is larger than 256 KiB; a rule has one file']);
  });
});

describe('a folder is read whole or refused', () => {
  it('with sub-folders, but without its examples', async () => {
    for (const folder of ['examples', 'team', 'team/examples']) mkdirSync(inRules(folder));
    writeFileSync(inRules('examples/bad.yaml'), 'no rule');
    writeFileSync(inRules('team/examples/other.yaml'), `id: other\n${GOOD}`);
    const { rules, problems } = await loadRules(join(dir, 'rules'), { traits: TRAITS });
    expect([rules.map(({ file }) => file), problems]).toEqual([['good.yaml', 'team/examples/other.yaml'], []]);
    const examples = await loadRules(inRules('examples'), { traits: TRAITS });
    expect(examples.problems).toHaveLength(1);
  });

  it('without the history of a database that lies in it: its evidence is JSON', async () => {
    mkdirSync(inRules('trustward.db.history/evidence'), { recursive: true });
    writeFileSync(inRules('trustward.db.history/evidence/a.json'), '{}');
    const { rules, problems } = await loadRules(join(dir, 'rules'), { traits: TRAITS });
    expect([rules.map(({ file }) => file), problems]).toEqual([['good.yaml'], []]);
  });

  it('with folders nested too deep', async () => {
    const deep = `a/${'b/'.repeat(15)}c`;
    mkdirSync(inRules(deep), { recursive: true });
    writeFileSync(inRules(`${deep}/rule.yaml`), `id: deep\n${GOOD}`);
    expect(await lines()).toEqual([`${deep}:1:1: folders are nested deeper than 16 levels; move these rules up`]);
  });

  it('with a link that leads back into it, which is not followed', async () => {
    symlinkSync(join(dir, 'rules'), inRules('again'));
    expect(await lines()).toEqual([]);
  });

  it('with more than 10,000 files', async () => {
    mkdirSync(inRules('many'));
    execFileSync('sh', ['-c', 'seq 10001 | xargs touch'], { cwd: inRules('many') });
    const all = await loadRules(join(dir, 'rules'), { traits: TRAITS });
    expect(all.problems.map(problemLine)).toEqual([
      expect.stringMatching(
        /^[\w./]+:1:1: there are more than 10000 files and folders; give a folder that holds only rules$/,
      ),
    ]);
  });
});

function listening(path: string): Promise<void> {
  return new Promise((resolve) => {
    const server = createServer().listen(path, () => resolve());
    server.unref();
    pipes.push(path);
  });
}
