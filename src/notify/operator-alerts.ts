// notify: alerts about operator commands: a stop or a resume, and exemptions that end soon or are unused. In: the
// current store. Out: conditions; alerts.ts reports the new ones. It changes nothing.
import { type AuditEntry, entryBody } from '../domain/audit-entry.ts';
import type { AuditReader } from '../domain/audit-store.ts';
import { aboutText, type Exemption, type ExemptionSettings, isEnding, isUnused } from '../domain/exemption.ts';
import type { MemberReader } from '../domain/exemption-members.ts';
import { identityText } from '../domain/identity.ts';
import type { Alert } from '../domain/notification.ts';
import { stopText } from '../domain/operator.ts';
import type { RecordReader } from '../domain/record-reader.ts';
import { isoTime, timeText } from '../domain/time-text.ts';

export type OperatorAlertReader = Pick<RecordReader, 'stop' | 'exemptions'> & Pick<AuditReader, 'audit'> & MemberReader;

/** An event that does not last is reported for this long, in case no check ran since. */
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
    ...(await joinedAlerts(reader, exemptions)),
  ];
}

/** Each newcomer has an alert of its own, up to so many of an exemption; beyond that one for the others. */
const JOINED_MAX = 10;

async function joinedAlerts(reader: MemberReader, exemptions: readonly Exemption[]): Promise<Alert[]> {
  const alerts: Alert[] = [];
  for (const exemption of exemptions) {
    const { count, some } = await reader.joinedLater(exemption, JOINED_MAX);
    const waits = "it is neither acted on nor exempt before a person's yes";
    for (const one of some) {
      const { kind, id, serial } = one;
      const text = `${identityText(one)} joined ${named(exemption)} after it was made: ${waits}`;
      const about = { ...aboutOf(exemption), subject: { kind, id }, serial: serial || null };
      alerts.push({
        key: `exemption ${exemption.id} joined by ${kind} ${id} ${serial}`,
        code: 'exemption_joined',
        text,
        about,
      });
    }
    if (count <= some.length) continue;
    const text = `${count} subjects joined ${named(exemption)} after it was made: each waits for a person's yes`;
    alerts.push({
      key: `exemption ${exemption.id} joined by many`,
      code: 'exemption_joined',
      text,
      about: { ...aboutOf(exemption), count },
    });
  }
  return alerts;
}

async function stopOrResume(reader: Pick<OperatorAlertReader, 'stop' | 'audit'>, nowMs: number): Promise<Alert[]> {
  const stop = await reader.stop();
  if (stop) {
    const { at, by, reason } = stop;
    const text = `${stopText(stop)}; nothing is called until it is resumed`;
    return [{ key: `stopped ${at}`, code: 'stopped', text, about: { at: isoTime(at), by, reason } }];
  }
  const [lifted] = await reader.audit({ kind: 'stop.lifted', limit: 1 });
  if (!lifted || lifted.at <= nowMs - RECENT_MS) return [];
  const { by, reason } = operatorIn(lifted);
  const text = `${by} resumed at ${timeText(lifted.at)}, and actions are called again: ${reason}`;
  return [{ key: `resumed ${lifted.seq}`, code: 'resumed', text, about: { at: isoTime(lifted.at), by, reason } }];
}

const GLASS_MAX = 20;

/** Plans that people let through change windows since a time. */
export async function glassAlerts(reader: Pick<AuditReader, 'audit'>, since: number): Promise<Alert[]> {
  const entries = await reader.audit({ kind: 'plan.glass_broken', since, limit: GLASS_MAX });
  return entries
    .filter(({ at }) => at > since)
    .map((entry) => {
      const { by, reason, plan } = operatorIn(entry);
      const text = `BREAK GLASS: ${by} let plan ${plan} through the change windows at ${timeText(entry.at)}: ${reason}`;
      const about = { plan, at: isoTime(entry.at), by, reason };
      return { key: `break glass ${entry.seq}`, code: 'break_glass', text, about };
    });
}

/** Targets that Trustward acted on, undid and acted on again within a day: one alert each while that lasts. */
export async function flapAlerts(reader: Pick<AuditReader, 'audit'>, since: number): Promise<Alert[]> {
  const entries = await reader.audit({ kind: 'decision.flapped', since, limit: FLAPS_MAX });
  const recent = entries.filter(({ at }) => at > since);
  return recent.map((entry) => {
    const { rule, action, target, reasonText } = wordsIn(entry, ['rule', 'action', 'target', 'reasonText']);
    const text = `${action} ${target} is done again by rule ${rule}, less than a day after Trustward undid it: ${reasonText}`;
    const about = { rule, action, target, at: isoTime(entry.at) };
    return { key: `flap ${action} ${target}`, code: 'flap', text, about };
  });
}

const FLAPS_MAX = 100;

function operatorIn(entry: AuditEntry): { by: string; reason: string; plan: string } {
  return wordsIn(entry, ['by', 'reason', 'plan']);
}

/** A tampered entry still shows that there was one; verification names it. */
function wordsIn<const Name extends string>(entry: AuditEntry, names: readonly Name[]): Record<Name, string> {
  const body = entryBody(entry);
  return Object.fromEntries(names.map((name) => [name, String(body[name] ?? 'unreadable')])) as Record<Name, string>;
}

function endingAlert(exemption: Exemption): Alert {
  const text = `${named(exemption)} ends at ${timeText(exemption.expiresAt)}: rules act on it again then`;
  return { key: `exemption ending ${exemption.id}`, code: 'exemption_ending', text, about: aboutOf(exemption) };
}

function unusedAlert(exemption: Exemption): Alert {
  const text = `${named(exemption)} has matched nothing since ${timeText(exemption.createdAt)}`;
  return { key: `exemption unused ${exemption.id}`, code: 'exemption_unused', text, about: aboutOf(exemption) };
}

function named(exemption: Exemption): string {
  return `exemption ${exemption.id} of ${aboutText(exemption)} (${exemption.owner} is responsible for it)`;
}

function aboutOf(exemption: Exemption): Alert['about'] {
  const { id, owner, createdAt, expiresAt } = exemption;
  const times = { createdAt: isoTime(createdAt), expiresAt: isoTime(expiresAt) };
  return { exemption: id, about: aboutText(exemption), owner, ...times };
}
