// report: all decisions of a run in the groups that an HTML report shows, in its order. In: a report. Out: groups, each with a key that names
// it among those of the same run.
import type { ActKind } from './act-kind.ts';
import { type ActGroup, actGroups, type ReasonGroup, reasonGroups } from './groups.ts';
import type { Report, RunDecision } from './report.ts';

export type RowGroup = (ActGroup & { kind: ActKind }) | (ReasonGroup & { kind: 'hold' | 'skip' });

export function rowGroups(report: Report): RowGroup[] {
  const acts = (kind: ActKind) => actGroups(report, kind).map((group) => ({ ...group, kind }));
  const answers = (kind: 'hold' | 'skip') => reasonGroups(report, kind).map((group) => ({ ...group, kind }));
  return [...acts('done'), ...acts('would'), ...answers('hold'), ...acts('reported'), ...answers('skip')];
}

export function keyOfGroup(group: RowGroup): string {
  const reason =
    'reason' in group ? [group.reason, ...((group.decisions[0] as RunDecision).inPlan ? ['plan'] : [])] : [];
  return [group.kind, group.rule, group.action, ...reason].join(' ');
}

/** The same report with the decisions that a text names: a part of an id, a name, a serial number, a target or an owner, in any case. */
export function narrowed(report: Report, text: string): Report {
  const part = text.trim().toLowerCase();
  if (part === '') return report;
  return { ...report, decisions: report.decisions.filter((decision) => isNamed(decision, part)) };
}

function isNamed({ subject, target, effect }: RunDecision, part: string): boolean {
  const names = [subject.id, subject.name, target, subject.serial, ...(subject.owners ?? [])];
  for (const { id, name, serial, owners = [] } of effect.devices) names.push(id, name, serial ?? null, ...owners);
  return names.some((name) => name?.toLowerCase().includes(part));
}
