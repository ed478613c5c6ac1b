// domain: what can be wrong with the disk below the database. In: nothing. Out: a noun that `/readyz`, the log and alerts share.

/**
 * `corrupt`: pages or values differ from what was written. `replaced`: a file was deleted or replaced while it was open. `io`: the disk
 * refuses without giving a reason.
 */
export type StoreFaultKind = 'full' | 'read_only' | 'busy' | 'corrupt' | 'replaced' | 'io';

/** Whether it lasts until a restart: a successful write does not end it. */
export function isLasting({ kind }: Pick<StoreFault, 'kind'>): boolean {
  return kind === 'corrupt' || kind === 'replaced';
}

export interface StoreFault {
  kind: StoreFaultKind;
  /** When it was first seen, epoch ms. */
  since: number;
  /** The fault and the remedy. It names no file, since anybody may read it. */
  text: string;
}
