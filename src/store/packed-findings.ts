// store: what a run found, as compressed bytes: the texts of its rules and its examples are long, the same in most runs, and read by the report
// alone. In: findings; a row. Out: a column; findings, exactly as they were. Rows of earlier versions have them as text.
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { canonicalJson } from '../domain/canonical.ts';
import type { RunFindings } from '../domain/run.ts';
import type { Row } from './queries.ts';
import { storedJson } from './stored-json.ts';

type Packed = Pick<RunFindings, 'snapshot' | 'tallies'>;

export function packFindings({ snapshot, tallies }: RunFindings): Buffer {
  return deflateRawSync(canonicalJson({ snapshot, tallies }));
}

/** What statements read of the tallies. */
export function talliedCounts({ tallies }: RunFindings): string {
  return canonicalJson(
    tallies.map(({ rule, judged, match, no_match, unknown, error }) => {
      return { rule, judged, match, no_match, unknown, error };
    }),
  );
}

export function hasFindings(row: Row): boolean {
  return row.findings instanceof Uint8Array || row.snapshot !== null;
}

/** Errors: AppError `store_damaged`. */
export function unpackFindings(row: Row): Packed {
  if (row.findings instanceof Uint8Array) return storedJson(inflated(row.findings));
  return { snapshot: storedJson(row.snapshot), tallies: storedJson(row.tallies) };
}

function inflated(bytes: Uint8Array): string {
  try {
    return inflateRawSync(bytes).toString();
  } catch {
    return ''; // reading it as JSON names the damage
  }
}
