// commands: the result of `audit verify` as JSON for programs; the result of accepting a restored backup, and what an operator has to
// check before going on.
import type { TablesAccepted } from '../audit/accept-tables.ts';
import type { RestoreAccepted } from '../audit/checkpointer.ts';
import type { AuditCheck } from '../domain/audit-check.ts';
import { timeText } from '../domain/time-text.ts';

export function tablesAcceptedText({ text, plans }: TablesAccepted): string {
  return [
    `accepted: ${text}; the audit records the tables as they are now`,
    `everything is stopped, and ${expiredText(plans)}: runs judge and report, and call nothing before \`resume\``,
    'check first who changed the rows, and what is in force now: `exempt list`, `claims list`, `tokens list`',
    'next: `trustward run --mode dry-run` shows what a resume would do; read it, then `trustward resume --reason …`',
  ].join('\n');
}

function expiredText(plans: number): string {
  return plans === 1 ? '1 waiting plan expired' : `${plans} waiting plans expired`;
}

/** What the backup cannot know: shown here, once, to the operator who decides. */
export function restoreAcceptedText({ aside, plans, stop }: RestoreAccepted): string {
  return [
    `accepted: from now on the checkpoints outside are those of this database${aside ? `; the former ones are in ${aside}` : ''}`,
    `everything is stopped, and ${expiredText(plans)}: runs judge and report, and call nothing before \`resume\``,
    'this database does not know what happened after its backup:',
    '  what was reversed or rejected: runs now hold it as `stopped`; exempt it, or it is done again',
    '  exemptions and stops: those added later are gone, those ended later are back (`exempt list`)',
    '  tokens: those revoked later are valid again (`tokens list`)',
    `  attempts: until ${timeText(stop.at + DAY_MS)} the 24-hour ceilings do not count the forgotten ones`,
    'next: `trustward run --mode dry-run` shows what a resume would do; read it, then `trustward resume --reason …`',
  ].join('\n');
}

const DAY_MS = 86_400_000;

export function auditCheckJson(check: AuditCheck): string {
  return JSON.stringify({ ...check, bad: check.bad ?? null }, null, 2);
}
