// commands: what `audit verify` found, in one line for people and as JSON for programs.
import type { AuditCheck, AuditFault } from '../audit/verdict.ts';

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

function faultText({ seq, checkpoint, reason }: AuditFault): string {
  if (checkpoint === undefined) return `entry ${seq}: ${reason}`;
  return `entry ${seq}: the checkpoint over ${checkpoint} entries ${reason}`;
}

export function auditCheckJson(check: AuditCheck): string {
  return JSON.stringify({ ...check, bad: check.bad ?? null }, null, 2);
}
