// support: the commands of a page, as a person goes through them: the blocks of the page that are marked `sh walk` or another word.
// In: a page, a word. Out: the blocks; one shell that runs them.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './built.ts';

/** What the output of the whole walk of the README with two compromised devices has, in this order. */
export const WHOLE_WALK =
  /All is well[\s\S]*Trustward: dry run[\s\S]*plan \w{26} was applied: (\d+) of \1 done\n( {2}ban_device \S+: succeeded \(Success\)\n){2}[\s\S]*Trustward: enforcing run[\s\S]*the audit is whole/;

export function walkOf(page: string, word = 'walk'): string[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return [...text.matchAll(/```sh (\w+)\n([\s\S]*?)```/g)].flatMap(([, mark, block = '']) =>
    mark === word ? [block.replace(/^ +/gm, '')] : [],
  );
}

/** The blocks of the README in a folder of this name: the key is put in after the first. */
export function goingThrough(blocks: string[], folder: string, key: string, address: string): string {
  const [init = '', ...rest] = blocks;
  const script = [init, `cat "${key}" > trustward/api-key`, ...rest].join('\n');
  return script
    .replaceAll('https://console.example.com', address)
    .replaceAll('trustward/', `${folder}/`)
    .replace('init trustward', `init ${folder}`);
}

/** One shell for all, as a person has one; a command that ends with 0 or 3 went well. */
export function inOneShell(script: string, cwd: string, env: Record<string, string> = {}) {
  const whole = `trap 'rc=$?; [ $rc -eq 3 ] || exit $rc' ERR\n${script}`;
  const { PATH, HOME, TMPDIR } = process.env;
  // Any port: another program on this machine may have the usual one.
  const place = { TRUSTWARD_LISTEN: '127.0.0.1:0' };
  return promisify(execFile)('bash', ['-c', whole], { cwd, env: { PATH, HOME, TMPDIR, ...place, ...env } });
}
