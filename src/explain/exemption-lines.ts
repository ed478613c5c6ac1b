// explain: the exemptions in a history: when each began, and when and why it ended. In: all exemptions, and the identifiers of what is asked about.
// Out: lines. An exemption of a name, a group or a platform is not among them: the store does not know whom it covers.
import { aboutText, type Exemption } from '../domain/exemption.ts';
import type { HistoryLine } from '../domain/history.ts';
import { timeText } from '../domain/time-text.ts';

/** The fields whose value is one subject's or target's own. */
const OWN_FIELDS: ReadonlySet<string> = new Set(['DeviceID', 'SerialNumber', 'Email', 'ServiceID']);

export function exemptionLines(
  exemptions: readonly Exemption[],
  identifiers: ReadonlySet<string>,
  nowMs: number,
): HistoryLine[] {
  const named = new Set([...identifiers].map((one) => one.toLowerCase()));
  return exemptions.filter((one) => named.has(namedBy(one))).flatMap((one) => [added(one), ...ended(one, nowMs)]);
}

function namedBy({ subject, selector }: Exemption): string {
  if (subject) return subject.id.toLowerCase();
  return selector && OWN_FIELDS.has(selector.field) ? selector.value.toLowerCase() : '';
}

function added(exemption: Exemption): HistoryLine {
  const { createdAt, createdBy, expiresAt, owner, reason } = exemption;
  const text = `${createdBy} exempted ${aboutText(exemption)} until ${timeText(expiresAt)} (${owner} is responsible for it): ${reason}`;
  return line(exemption, createdAt, text, createdBy);
}

function ended(exemption: Exemption, nowMs: number): HistoryLine[] {
  const { endedAt, endedBy, endedReason, expiresAt } = exemption;
  const about = `the exemption of ${aboutText(exemption)}`;
  if (endedAt !== undefined) return [line(exemption, endedAt, `${endedBy} ended ${about}: ${endedReason}`, endedBy)];
  return expiresAt <= nowMs ? [line(exemption, expiresAt, `${about} expired`, undefined)] : [];
}

function line({ id }: Exemption, at: number, text: string, by: string | undefined): HistoryLine {
  return { at, kind: 'exemption', text, action: undefined, target: undefined, rules: [], run: undefined, by, id };
}
