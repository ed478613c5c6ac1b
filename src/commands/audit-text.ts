// commands: what `audit verify` found, in one line for people and as JSON for programs; what accepting a restored backup did,
// and what a person has to look at before going on.
import type { RestoreAccepted } from '../audit/checkpointer.ts';
import type { AuditCheck, AuditFault } from '../audit/verdict.ts';
import { isoTime } from '../domain/time-text.ts';

export function auditCheckText(check: AuditCheck): string {
  if (check.bad) return `the audit is broken at ${faultText(check.bad)}; ${check.entries} entries before it are whole`;
  const lines = [
    `the audit is whole: ${check.entries} entries, head ${check.head}`,
    ...(check.first > 1 ? [`entries before ${check.first} are not here: archived, or not part of this export`] : []),
    ...(check.checkpoints > 0
      ? [`${check.checkpoints} signed checkpoints agree, the last over entry ${check.sealed}`]
      : []),
    ...check.notes,
  ];
  return lines.join('\n');
}

/** What the backup cannot know is said here, once, to whoever has to decide on it. */
export function restoreAcceptedText({ aside, plans, stop }: RestoreAccepted): string {
  const expired = plans === 1 ? '1 plan that waited is expired' : `${plans} plans that waited are expired`;
  return [
    `accepted: the checkpoints outside are those of this database from now on; the former ones lie in ${aside}`,
    `everything is stopped, and ${expired}: runs judge and report, and nothing is called before \`resume\``,
    'this database does not know what was done, or said by people, after its backup:',
    '  what they reversed or rejected: it is among what runs hold as `stopped` now; exempt it, or it is done again',
    '  exemptions and stops: those added since are gone, those ended since are back (`exempt list`)',
    '  tokens: those revoked since are valid again (`tokens list`)',
    `  how often was acted: until ${isoTime(stop.at + DAY_MS)} the ceilings of 24 hours do not count what is forgotten`,
    'next: `trustward run --mode dry-run` holds what a resume would do; read it, then `trustward resume --reason …`',
  ].join('\n');
}

const DAY_MS = 86_400_000;

function faultText({ seq, checkpoint, reason }: AuditFault): string {
  if (checkpoint === undefined) return `entry ${seq}: ${reason}`;
  return `entry ${seq}: the checkpoint over ${checkpoint} entries ${reason}`;
}

export function auditCheckJson(check: AuditCheck): string {
  return JSON.stringify({ ...check, bad: check.bad ?? null }, null, 2);
}
