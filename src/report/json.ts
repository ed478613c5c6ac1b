// report: the JSON writer. One document, ended by a line feed; an integer that JSON cannot hold is a string of digits.
import type { AuditEntry } from '../domain/audit-entry.ts';
import type { StoredDecision } from '../domain/decision.ts';
import { auditView } from './audit-view.ts';
import { decisionView } from './decision-view.ts';
import type { Report } from './report.ts';

export function reportJson(report: Report): string {
  return jsonText(report);
}

/** `{"decisions": […]}`, in the order given. */
export function decisionsJson(decisions: readonly StoredDecision[]): string {
  return jsonText({ decisions: decisions.map(decisionView) });
}

/** `{"entries": […]}`, in the order given. */
export function auditJson(entries: readonly AuditEntry[]): string {
  return jsonText({ entries: entries.map(auditView) });
}

function jsonText(value: unknown): string {
  return `${JSON.stringify(value, (_key, member) => (typeof member === 'bigint' ? member.toString() : member), 2)}\n`;
}
