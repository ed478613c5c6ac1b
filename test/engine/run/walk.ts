// test: random walks over the real engine, each judged at every writing request. In: how many, and a seed. Out: figures, or
// fast-check's error with the shortest walk that it finds.
import fc from 'fast-check';
import { expect } from 'vitest';
import type { Case } from '../../support/cases.ts';
import { walkCase } from './bouts.ts';
import { Judge } from './judge.ts';
import { noRequests, type Path, type Requests } from './paths.ts';
import { Stage } from './stage.ts';

export interface WalkFigures {
  walks: number;
  steps: number;
  calls: number;
  paths: Requests;
  /** Matches that cleared while another claim on the same target lasted: nothing is to be undone then. */
  kept: number;
  violations: number;
}

export async function walkMany(numRuns: number, seed: number): Promise<WalkFigures> {
  const paths = noRequests();
  const figures: WalkFigures = { walks: 0, steps: 0, calls: 0, paths, kept: 0, violations: 0 };
  const property = fc.asyncProperty(walkCase, async (given) => {
    const judge = await walk(given, figures);
    figures.walks += 1;
    for (const path of Object.keys(paths) as Path[]) {
      paths[path] += judge.requests[path];
      figures.calls += judge.requests[path];
    }
    figures.kept += judge.kept;
    figures.violations += judge.violations.length;
    expect(judge.violations).toEqual([]);
  });
  await fc.assert(property, { numRuns, seed });
  return figures;
}

async function walk(given: Case, figures: WalkFigures): Promise<Judge> {
  const judge = new Judge();
  const stage = new Stage(given, judge);
  judge.watch(stage);
  try {
    for (const step of given.history) {
      await stage.take(step);
      figures.steps += 1;
    }
  } finally {
    await stage.close();
  }
  return judge;
}

export function figuresLine({ walks, steps, calls, paths, kept, violations }: WalkFigures): string {
  const byPath = Object.entries(paths).map(([path, count]) => `${count} by ${path}`);
  const counts = `${walks} walks, ${steps} steps, ${calls} calls (${byPath.join(', ')})`;
  return `${counts}, ${kept} kept for another claim, violations ${violations}`;
}
