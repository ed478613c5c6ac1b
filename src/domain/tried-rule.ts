// domain: what a changed rule would match and do over the present fleet, compared with the rule in force. rule-set/ makes it.
import type { ActionName } from './action.ts';
import type { DecisionName, ReasonCode } from './decision.ts';
import type { Fact } from './facts.ts';
import type { Rule } from './rule.ts';
import type { SubjectKind } from './subjects.ts';

export interface TriedRule {
  /** The changed rule. */
  rule: Rule;
  /** When reading the fleet for it began, epoch ms. The fleet was read before that for the rule in force. */
  asOf: number;
  before: TriedCounts;
  after: TriedCounts;
  /** Subjects that only the changed rule matches, and those that only the rule in force matches: `TRIED_MAX` of each at most. */
  added: TriedSubject[];
  addedTotal: number;
  gone: TriedSubject[];
  goneTotal: number;
  /** How many subjects both match. */
  same: number;
  /** The number of subjects that the changed rule cannot judge, by missing fact. */
  unknownBy: { [fact: string]: number };
  /** Why sources that were read are not trusted: then nothing would be done. */
  untrusted: string[];
}

export const TRIED_MAX = 1_000;

/** Subjects by verdict, and decisions. All are 0 for a rule of mode `off`. */
export interface TriedCounts {
  match: number;
  unknown: number;
  error: number;
  act: number;
  hold: number;
  skip: number;
}

export interface TriedSubject {
  kind: SubjectKind;
  id: string;
  name: string;
  /** A device's; empty for other kinds. */
  serial: string;
  /** Undefined when the list that was read does not have them. */
  owners: readonly string[] | undefined;
  /** What the changed rule would decide; for a subject that it no longer matches, an undo or nothing. */
  decided: TriedDecision[];
  /** What the rule in force would decide. */
  was: TriedDecision[];
  /** The values behind the match. */
  facts: { [path: string]: Fact };
}

export interface TriedDecision {
  action: ActionName;
  target: string;
  decision: DecisionName;
  reason: ReasonCode;
  reasonText: string;
}
