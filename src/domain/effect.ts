// domain: what an action touches and changes, as people read it before they approve it.
import type { Deletion } from './deletion.ts';
import type { Fact } from './facts.ts';

/** One value of a document that differs, such as `spec.backend.target.port`. A secret shows as `[dropped]`. */
export interface Change {
  path: string;
  /** Null: it was not there. */
  from: Fact;
  /** Null: it is taken away. */
  to: Fact;
}

/** What an action really touches. */
export interface Effect {
  text: string;
  devices: { id: string; name: string; platform: string; model: string }[];
  /** Of an action that rewrites a document: what it changes in it, as read for the snapshot. Absent where that cannot be told. */
  changes?: Change[];
  /** Of a deletion of devices: whom it takes what. */
  deletion?: Deletion;
  /** Of an action that removes its target: what stands on it by our doing and ends with it, as `ACTION of rule RULE`. */
  ends?: readonly string[];
}
