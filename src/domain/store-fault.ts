// domain: what can be wrong with the disk below the database. In: nothing. Out: a noun that `/readyz`, the log and alerts share.

/** `corrupt`: pages or values are not what was written. `io`: the disk refuses for a reason that it does not tell. */
export type StoreFaultKind = 'full' | 'read_only' | 'busy' | 'corrupt' | 'io';

export interface StoreFault {
  kind: StoreFaultKind;
  /** When it was first met, epoch ms. */
  since: number;
  /** What is so and what to do. It names no file: anybody may read it. */
  text: string;
}
