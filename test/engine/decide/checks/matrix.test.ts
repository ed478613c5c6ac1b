// test: docs/checks.md is the table of checks as the code has it; every check is in a stage's list or has a reason why not.
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CHECK_NAMES, STAGES } from '../../../../src/domain/check.ts';
import { CHECKS } from '../../../../src/engine/decide/checks/ask.ts';
import { COMPLETE, GAPS, LISTS } from '../../../../src/engine/decide/checks/stages.ts';
import { matrixText } from './matrix.ts';

const ROOT = join(import.meta.dirname, '../../../..');

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

  it('has every check, and each is asked by some stage', () => {
    expect(Object.keys(CHECKS).toSorted()).toEqual(CHECK_NAMES.toSorted());
    const asked = new Set(STAGES.flatMap((stage) => LISTS[stage].map(({ check }) => check)));
    expect(Object.keys(CHECKS).filter((name) => !asked.has(name as never))).toEqual([]);
  });
});
