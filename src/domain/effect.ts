// domain: what an action touches and changes, as an operator reads it before approving it.
import type { Deletion } from './deletion.ts';
import type { Fact } from './facts.ts';

/** One changed value of a document, such as `spec.backend.target.port`. A secret shows as `[dropped]`. */
export interface Change {
  path: string;
  /** Null: it did not exist. */
  from: Fact;
  /** Null: it is removed. */
  to: Fact;
}

/** A device that an action touches, as it was read. */
export interface EffectDevice {
  id: string;
  name: string;
  platform: string;
  model: string;
  /** Absent in rows of earlier versions. */
  serial?: string;
  /** Absent where the list that was read does not show owners. */
  owners?: readonly string[];
}

/** The real effect of an action. */
export interface Effect {
  text: string;
  devices: EffectDevice[];
  /**
   * For an action that rewrites a document: its changes to the document in the snapshot. Absent when they are not
   * known.
   */
  changes?: Change[];
  /** For a deletion of devices: what each person loses. */
  deletion?: Deletion;
  /** For an action that removes its target: open claims on the target that end with it, as `ACTION of rule RULE`. */
  ends?: readonly string[];
  /** Ids of exemptions that the target joined after they were made: an approval of this effect knows of them. */
  joined?: readonly string[];
}
