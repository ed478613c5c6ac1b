// test: no path (schedule, trigger, approved plan, retry, undo, release, restart, reload) exceeds a ceiling, undoes
// what another claim still needs or a person did, acts on what is unknown or exempt, or acts while everything is
// stopped. The long form: thousands.
import { describe, expect, it } from 'vitest';
import { figuresLine, walkMany } from './walk.ts';

const WALKS = 40;
const LIMIT_MS = 240_000; // for machines on which much else runs

describe('random walks of runs, plans, people, faults, restarts and reloads', () => {
  it(
    'find no call beyond a ceiling or a mode, against a claim, a person, an exemption or a stop, or on what is unknown',
    async () => {
      const figures = await walkMany(WALKS, 1);
      process.stdout.write(`${figuresLine(figures)}\n`);
      expect(figures.walks).toBe(WALKS);
      expect(Math.min(figures.paths.schedule, figures.paths.plan)).toBeGreaterThan(0);
      // Without these, nothing that another claim still needs could be undone.
      expect(Math.min(figures.paths.undo, figures.kept)).toBeGreaterThan(5);
    },
    LIMIT_MS,
  );
});
