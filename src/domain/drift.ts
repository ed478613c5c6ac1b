// domain: what has changed about the targets of a plan since it was sealed, and why applying it would refuse one now.
import type { ActionName } from './action.ts';
import type { CheckName } from './check.ts';
import type { Fact } from './facts.ts';

/** A field of a subject's record, or a path of the document that would be changed. Without secrets. */
export interface FieldChange {
  subject: string;
  field: string;
  then: Fact;
  now: Fact;
}

/** One intent of a plan, against its target as just read. */
export interface Drift {
  /** The intent's, in its plan. */
  key: string;
  action: ActionName;
  target: string;
  changed: FieldChange[];
  /** Matched subjects whose records are gone. */
  gone: string[];
  /** Why applying the plan would refuse it now: the first check that answers. Undefined: none does. */
  refused: { check: CheckName; reason: string; reasonText: string } | undefined;
  /** Why the target could not be read now; then nothing else is known. */
  unread: string | undefined;
}

/** Targets of one question. */
export const DRIFT_TARGETS_MAX = 25;
