// domain: what runs saw of one fact, as history keeps it and as rules that look back read it. In: nothing. Out: the form.
import type { Fact } from './facts.ts';
import type { SubjectKind } from './subjects.ts';

/** One fact of one subject that a run saw otherwise than the runs recorded before it. */
export interface FactChange {
  kind: SubjectKind;
  /** The subject's id. */
  subject: string;
  /** As rules name it, such as `MdmData.CompromisedStatus`; a list is one value. Empty: the subject itself, which the list no longer has. */
  path: string;
  /** Undefined: it is there no longer. */
  value: Fact | undefined;
  /** It is there and was not recorded, since it is a secret: `value` is undefined then. */
  secret?: true;
}
