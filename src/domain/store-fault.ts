// domain: what can be wrong with the database and what is below it. In: nothing. Out: a noun that `/readyz`, the log and alerts share.

/**
 * `corrupt`: pages or values differ from what was written. `edited`: rows differ from what the audit records. `replaced`: a file was
 * deleted or replaced while it was open. `io`: the disk refuses without giving a reason. Of a server: `gone` does not answer, `slow` answers
 * too late, `crowded` has no connection or memory left.
 */
export type StoreFaultKind =
  | 'full'
  | 'read_only'
  | 'busy'
  | 'corrupt'
  | 'edited'
  | 'replaced'
  | 'io'
  | 'gone'
  | 'slow'
  | 'crowded';

/** INVARIANT: a successful write does not end these: nothing is changed until a restart finds them gone. */
const LASTING: readonly StoreFaultKind[] = ['corrupt', 'edited', 'replaced'];

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
