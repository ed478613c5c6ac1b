// The walk of docs/history.md, run as a person goes through it: over a recorded month in which a first draft would have banned the wrong forty.
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { built, ROOT } from '../support/built.ts';
import { recordMonth, wrongAfternoon } from '../support/recorded-month.ts';
import { inOneShell, walkOf } from '../support/walk.ts';

let dir: string;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'trustward-walk-'));
  cpSync(join(ROOT, 'rules'), join(dir, 'rules'), { recursive: true });
  await recordMonth(dir, { devices: 250, happens: wrongAfternoon });
}, 120_000);
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe('the walk from a first draft to a mode', () => {
  it('shows the wrong forty, the change that spares them, and the evidence for a mode', {
    timeout: 300_000,
  }, async () => {
    const npx = `npx() { shift; "${process.execPath}" "${built('src/main.ts')}" "$@"; }`;
    const blocks = walkOf('docs/history.md');
    expect(blocks).toHaveLength(6);
    const env = { TRUSTWARD_DB: join(dir, 'trustward.db'), TRUSTWARD_RULES: 'rules' };
    const { stdout } = await inOneShell([npx, ...blocks].join('\n'), dir, env);
    const told = stdout.replace(/\s+/g, ' ');
    expect(told).toMatch(
      /Would have banned 43 devices of 43 people; at most 40 in one run.*Would have banned 3 devices of 3 people.*they differ: diff.md names who/,
    );
    const diff = readFileSync(join(dir, 'diff.md'), 'utf8');
    expect(diff).toContain('over the recorded time nobody would be added and 40 subjects would go');
    expect(diff.match(/^\| device d\d+, person/gm)).toHaveLength(20);
    expect(readFileSync(join(dir, 'rules/ban-not-compliant-device.yaml'), 'utf8')).toMatch(/^mode: approve$/m);
  });
});
