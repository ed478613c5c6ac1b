// pull: the baseline as values are told now. In: as it was stored, maybe by a version that told them otherwise. Out: the same
// shares under the names that a reading of today gives them, so that a change of the product is no change of the fleet.
import { redacted } from '../domain/secrets.ts';
import type { Baseline } from '../domain/snapshot.ts';

export function redactedBaseline(stored: Baseline | undefined): Baseline | undefined {
  if (!stored) return undefined;
  const values = Object.entries(stored.values).map(([path, counts]) => [path, describedCounts(path, counts)] as const);
  return { ...stored, values: Object.fromEntries(values) };
}

function describedCounts(path: string, counts: Record<string, number>): Record<string, number> {
  const told: Record<string, number> = Object.create(null);
  for (const [value, count] of Object.entries(counts)) {
    const key = String(redacted(value, path));
    told[key] = (told[key] ?? 0) + count;
  }
  return told;
}
