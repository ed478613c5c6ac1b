// pull: the baseline with values redacted as today. In: the stored baseline, possibly from a version that redacted
// differently. Out: the same shares under today's names, so that a change of the product is not a change of the fleet.
import { redacted } from '../domain/secrets.ts';
import type { Baseline, KeptReading } from '../domain/snapshot.ts';

export function redactedBaseline(stored: Baseline | undefined): Baseline | undefined {
  if (!stored) return undefined;
  const { earlier } = stored;
  return { ...redactedReading(stored), ...(earlier && { earlier: earlier.map(redactedReading) }) };
}

function redactedReading<Reading extends KeptReading>(reading: Reading): Reading {
  const values = Object.entries(reading.values).map(([path, counts]) => [path, redactedCounts(path, counts)] as const);
  return { ...reading, values: Object.fromEntries(values) };
}

function redactedCounts(path: string, counts: Record<string, number>): Record<string, number> {
  const shares: Record<string, number> = Object.create(null);
  for (const [value, count] of Object.entries(counts)) {
    const key = String(redacted(value, path));
    shares[key] = (shares[key] ?? 0) + count;
  }
  return shares;
}
