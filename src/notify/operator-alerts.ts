// notify: alerts of what people said: that everything was stopped or goes on, and exemptions that end soon or serve nobody.
// In: the store, as it is now. Out: conditions, for alerts.ts to tell when they are new. It changes nothing.
import type { AuditEntry } from '../domain/audit-entry.ts';
import type { AuditReader } from '../domain/audit-store.ts';
import { aboutText, type Exemption, type ExemptionSettings, isEnding, isUnused } from '../domain/exemption.ts';
import type { Alert } from '../domain/notification.ts';
import { stopText } from '../domain/operator.ts';
import type { RecordReader } from '../domain/record-reader.ts';
import { isoTime } from '../domain/time-text.ts';

export type OperatorAlertReader = Pick<RecordReader, 'stop' | 'exemptions'> & Pick<AuditReader, 'audit'>;

/** What happened once, and does not last, is told for so long, should nobody have looked since. */
export const RECENT_MS = 86_400_000;

export async function operatorAlerts(
  reader: OperatorAlertReader,
  settings: ExemptionSettings,
  nowMs: number,
): Promise<Alert[]> {
  const exemptions = await reader.exemptions(nowMs);
  return [
    ...(await stopOrResume(reader, nowMs)),
    ...exemptions.filter((one) => isEnding(one, settings, nowMs)).map(endingAlert),
    ...exemptions.filter((one) => isUnused(one, settings, nowMs)).map(unusedAlert),
  ];
}

async function stopOrResume(reader: Omit<OperatorAlertReader, 'exemptions'>, nowMs: number): Promise<Alert[]> {
  const stop = await reader.stop();
  if (stop) {
    const { at, by, reason } = stop;
    const text = `${stopText(stop)}; nothing is called until it is resumed`;
    return [{ key: `stopped ${at}`, code: 'stopped', text, about: { at: isoTime(at), by, reason } }];
  }
  const [lifted] = await reader.audit({ kind: 'stop.lifted', limit: 1 });
  if (!lifted || lifted.at <= nowMs - RECENT_MS) return [];
  const at = isoTime(lifted.at);
  const { by, reason } = saidIn(lifted);
  const text = `${by} resumed at ${at}, and actions are called again: ${reason}`;
  return [{ key: `resumed ${lifted.seq}`, code: 'resumed', text, about: { at, by, reason } }];
}

/** An entry whose bytes were tampered with still says that there was one; verification names it. */
function saidIn({ bytes }: AuditEntry): { by: string; reason: string } {
  try {
    const { by, reason } = (JSON.parse(bytes) as { body: { by: unknown; reason: unknown } }).body;
    return { by: String(by), reason: String(reason) };
  } catch {
    return { by: 'somebody', reason: 'the audit entry cannot be read' };
  }
}

function endingAlert(exemption: Exemption): Alert {
  const text = `${named(exemption)} ends at ${isoTime(exemption.expiresAt)}: rules act on it again then`;
  return { key: `exemption ending ${exemption.id}`, code: 'exemption_ending', text, about: aboutOf(exemption) };
}

function unusedAlert(exemption: Exemption): Alert {
  const text = `${named(exemption)} never stood in the way of anything since ${isoTime(exemption.createdAt)}`;
  return { key: `exemption unused ${exemption.id}`, code: 'exemption_unused', text, about: aboutOf(exemption) };
}

function named(exemption: Exemption): string {
  return `exemption ${exemption.id} of ${aboutText(exemption)} (${exemption.owner} answers for it)`;
}

function aboutOf(exemption: Exemption): Alert['about'] {
  const { id, owner, createdAt, expiresAt } = exemption;
  const times = { createdAt: isoTime(createdAt), expiresAt: isoTime(expiresAt) };
  return { exemption: id, about: aboutText(exemption), owner, ...times };
}
