// domain: what can be wrong with the disk below the database. In: nothing. Out: a noun that `/readyz`, the log and alerts share.

/**
 * `corrupt`: pages or values differ from what was written. `edited`: rows differ from what the audit records. `io`: the disk refuses
 * without giving a reason.
 */
export type StoreFaultKind = 'full' | 'read_only' | 'busy' | 'corrupt' | 'edited' | 'io';

/** INVARIANT: these do not repair themselves: a successful write elsewhere does not end them, and nothing is changed meanwhile. */
const LASTING: readonly StoreFaultKind[] = ['corrupt', 'edited'];

export function isLasting({ kind }: Pick<StoreFault, 'kind'>): boolean {
  return LASTING.includes(kind);
}

export interface StoreFault {
  kind: StoreFaultKind;
  /** When it was first seen, epoch ms. */
  since: number;
  /** The fault and the remedy. It names no file, since anybody may read it. */
  text: string;
}
