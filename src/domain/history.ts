// domain: what happened to one target or one subject, as one list: decisions, calls and what people did.
import type { ActionName } from './action.ts';

/**
 * decision: a run decided something new. call: an intent that was begun, with its outcome. reversal: somebody reversed what Trustward did, or
 * commanded to release it. resolution: a person resolved a doubt. exemption: one began or ended. fact: a run saw other facts than those before it.
 */
export const HISTORY_KINDS = ['decision', 'call', 'reversal', 'resolution', 'exemption', 'fact'] as const;
export type HistoryKind = (typeof HISTORY_KINDS)[number];

/** `facts`: what changed of its facts alone; `acts`: all but that. */
export const TIMELINE_PARTS = ['all', 'facts', 'acts'] as const;
export type TimelinePart = (typeof TIMELINE_PARTS)[number];

export interface HistoryLine {
  /** Epoch ms. */
  at: number;
  kind: HistoryKind;
  /** In words. It may hold hostile names: whoever shows it escapes it. */
  text: string;
  action: ActionName | undefined;
  target: string | undefined;
  rules: readonly string[];
  /** The number of the run that did it; undefined when a person did, or the run was removed. */
  run: number | undefined;
  /** The person, as the audit names them; undefined: Trustward, or somebody unknown to it. */
  by: string | undefined;
  /** Of the decision, intent, episode, claim or exemption; the number of the run that saw other facts. */
  id: string;
}
