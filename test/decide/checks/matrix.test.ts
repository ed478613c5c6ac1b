// test: docs/checks.md is the table of checks as the code has it; every check is in a stage's list or has a reason why not.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CHECKS } from '../../../src/decide/checks/ask.ts';
import { COMPLETE, GAPS, LISTS } from '../../../src/decide/checks/stages.ts';
import { CHECK_NAMES, STAGES } from '../../../src/domain/check.ts';
import { matrixText } from './matrix.ts';

const ROOT = join(import.meta.dirname, '../../..');
/** Of the folder: what asks, the lists, and what several checks share. */
const OTHERS = ['ask.ts', 'changed-facts.ts', 'last-run-said.ts', 'stages.ts'];

describe('the table of checks', () => {
  it('is in the docs as the code has it (`npm run docs:checks` writes it)', async () => {
    await expect(matrixText()).toMatchFileSnapshot(join(ROOT, 'docs/checks.md'));
  });

  it.each(STAGES)('has each check once for %s: in its list, or with a reason why not', (stage) => {
    const listed = LISTS[stage].map(({ check }) => check);
    const all = [...listed, ...Object.values(GAPS[stage]).flat()];
    expect(all.toSorted()).toEqual(CHECK_NAMES.toSorted());
    expect(COMPLETE).toBe(true); // the types say the same
  });

  it('has one file for each check, and each is asked by some stage', () => {
    const files = readdirSync(join(ROOT, 'src/decide/checks')).filter((name) => !OTHERS.includes(name));
    expect(files).toEqual(CHECK_NAMES.map((name) => `${name}.ts`).toSorted());
    const asked = new Set(STAGES.flatMap((stage) => LISTS[stage].map(({ check }) => check)));
    expect(Object.keys(CHECKS).filter((name) => !asked.has(name as never))).toEqual([]);
  });
});
