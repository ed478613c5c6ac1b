// report: the JSON writer. One document, ended by a line feed; an integer that JSON cannot hold is a string of digits.

import { jsonPieces } from '../../base/json.ts';
import type { Report } from '../../contract/report.ts';
import type { StoredDecision } from '../../domain/decision.ts';
import type { HistoryLine } from '../../domain/why.ts';
import { decisionView } from './decision-view.ts';
import { historyView } from './lists-text.ts';

export function reportJson(report: Report): string {
  return [...reportJsonPieces(report)].join('');
}

/** The same in pieces of bounded work. */
export function* reportJsonPieces(report: Report): Generator<string> {
  yield* jsonPieces(report, 2);
  yield '\n';
}

/** `{"decisions": […]}`, in the order given; with `history` for one target or subject. */
export function decisionsJson(decisions: readonly StoredDecision[], history?: readonly HistoryLine[]): string {
  return jsonText({ decisions: decisions.map(decisionView), ...(history && { history: history.map(historyView) }) });
}

/** `{"entries": […]}`, in the order given. */
function jsonText(value: unknown): string {
  return `${[...jsonPieces(value, 2)].join('')}\n`;
}
