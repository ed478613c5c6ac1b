// store: a long document in a column that no statement reads, as compressed bytes. In: a value. Out: bytes; the value that was written.
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { canonicalJson } from '../domain/canonical.ts';
import { storedJson } from './stored-json.ts';

export function packJson(value: unknown): Buffer {
  return deflateRawSync(canonicalJson(value));
}

/** Errors: AppError `store_damaged`. */
export function unpackJson<T>(bytes: Uint8Array): T {
  return storedJson<T>(textOf(bytes));
}

function textOf(bytes: Uint8Array): string {
  try {
    return inflateRawSync(bytes).toString();
  } catch {
    return ''; // reading it as JSON names the damage
  }
}
