// domain: what the event log names somebody else than Trustward did to a target: evidence, not a state. Anybody who may submit events can forge
// it, so it only ever ends what Trustward claims. In: nothing. Out: nouns.
import type { ActionName } from './action.ts';
import type { SubjectRef } from './subjects.ts';

export interface NamedAct {
  /** The id of the event. */
  event: string;
  /** By our clock, epoch ms. */
  atMs: number;
  subject: SubjectRef;
  action: ActionName;
  /** The caller, as the event has it; absent in records of the history. */
  by?: string | undefined;
}

/** The type of the events that the platform writes of what its administrators do. */
export const AUDIT_EVENT = 'Audit';
