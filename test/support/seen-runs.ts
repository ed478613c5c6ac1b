// support: a history for rules that look back, written down by hand: when lists were read, and what changed. It answers as the kept history does.

import type { Fact } from '../../src/domain/facts.ts';
import type { FactChange, LookBackRun, LookBackSource } from '../../src/domain/look-back.ts';

export interface SeenRuns extends LookBackSource {
  /** A trusted reading of all devices. */
  run(atMs: number, ...changes: FactChange[]): void;
  /** How often it was read. */
  asked: number;
}

export const changed = (subject: string, path: string, value: Fact | undefined): FactChange => ({
  kind: 'device',
  subject,
  path,
  value,
});

export function seenRuns(): SeenRuns {
  const runs: LookBackRun[] = [];
  const seen: SeenRuns = {
    asked: 0,
    run: (atMs, ...changes) => {
      runs.push({ atMs, read: ['device'], singly: [], changes });
    },
    async *items(_, fromMs) {
      seen.asked += 1;
      const earlier = runs.filter(({ atMs }) => atMs < fromMs);
      yield { kind: 'anew' };
      yield { kind: 'state', facts: earlier.flatMap(({ changes }) => changes) };
      for (const run of runs.slice(earlier.length)) yield { kind: 'run', run };
    },
  };
  return seen;
}
