// The process itself: what it says before it loads anything.
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { built } from './support/built.ts';

/** Runs before main.ts: another version is told, and loading anything native ends the process as it would there. */
const OLD_NODE = `data:text/javascript,
Object.defineProperty(process.versions, 'node', { value: '20.20.2' });
process.dlopen = () => process.abort();`;

test('a Node that is too old is refused in one line, before anything native is loaded', () => {
  const args = ['--import', OLD_NODE, built('src/main.ts'), 'doctor'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect({ status, stdout, stderr }).toEqual({
    status: 2,
    stdout: '',
    stderr: 'trustward: Node 22 or newer is needed; this is Node 20.20.2\n',
  });
});
