// report: the result of verifying the audit, for people. In: a verdict. Out: lines; what is wrong comes first.
import { differencesText } from '../domain/acting-tables.ts';
import type { AuditCheck, AuditFault } from '../domain/audit-check.ts';

export function auditCheckText(check: AuditCheck): string {
  if (check.bad) return `the audit is broken at ${faultText(check.bad)}; ${check.entries} entries before it are whole`;
  if (check.tables.length > 0) {
    return `${check.entries} entries are whole, but the database was changed beside the engine: ${differencesText(check.tables)}`;
  }
  const lines = [
    `the audit is whole: ${check.entries} entries, head ${check.head}`,
    ...(check.first > 1
      ? [`entries before ${check.first} are missing here: archived, or not part of this export`]
      : []),
    ...(check.checkpoints > 0
      ? [
          check.checkpoints === 1
            ? `1 signed checkpoint agrees, over entry ${check.sealed}`
            : `${check.checkpoints} signed checkpoints agree, the last over entry ${check.sealed}`,
        ]
      : []),
    ...check.notes,
  ];
  return lines.join('\n');
}

function faultText({ seq, checkpoint, reason }: AuditFault): string {
  if (checkpoint === undefined) return `entry ${seq}: ${reason}`;
  return `entry ${seq}: the checkpoint over ${checkpoint} entries ${reason}`;
}
