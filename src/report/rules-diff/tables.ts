// report: the tables of a comparison of two rule sets, for its writers: figures by rule, and who differs. In: the comparison as a document.
// Out: tables of plain lines that may hold hostile names: each writer escapes them. Long ones are cut.
import { countText } from '../fact-text.ts';
import { type CellLine, whole } from '../marked.ts';
import { timeCell } from '../time-words.ts';
import { whoLine } from '../who.ts';
import type { DifferingView, RuleDiffView, RulesDiffDocument } from './document.ts';

export interface DiffTable {
  head: readonly string[];
  rows: readonly (readonly (readonly CellLine[])[])[];
}

export const RULES_MAX = 40;
const LISTS_MAX = 24;

const CHANGES: Record<RuleDiffView['change'], string> = {
  added: 'new',
  removed: 'removed',
  changed: 'changed',
  same: 'same text; others changed what it does',
};

/** Before → after. */
export function figuresTable({ rules }: RulesDiffDocument): DiffTable {
  return {
    head: [
      'Rule',
      'Matches now',
      'Added and gone now',
      'Acts over time',
      'Added and gone over time',
      'Most in a run',
      'Undone within 1 h',
      'Unknown',
    ],
    rows: rules
      .slice(0, RULES_MAX)
      .map(({ id, change, now, overTime }) => [
        [whole(id), CHANGES[change]],
        [arrow(now.old?.matches, now.new?.matches)],
        [signed(now)],
        [arrow(overTime.old?.acts, overTime.new?.acts)],
        [signed(overTime)],
        [arrow(overTime.old?.mostInRun, overTime.new?.mostInRun), ...limitLines(overTime.new)],
        [arrow(overTime.old?.flaps, overTime.new?.flaps)],
        [arrow(overTime.old?.unknown, overTime.new?.unknown)],
      ]),
  };
}

function limitLines(rule: RuleDiffView['overTime']['new']): string[] {
  if (!rule?.allowed || rule.mostTargets <= rule.allowed.limits) return [];
  return [`up to ${countText(rule.mostTargets)} at once, limit ${countText(rule.allowed.limits)}`];
}

function arrow(before: number | undefined, after: number | undefined): string {
  const [one, other] = [before, after].map((count) => (count === undefined ? '—' : countText(count)));
  return one === other ? `${one}` : `${one} → ${other}`;
}

function signed({ added, gone }: { added: DifferingView; gone: DifferingView }): string {
  return added.total + gone.total === 0 ? 'none' : `+${countText(added.total)} −${countText(gone.total)}`;
}

export interface DiffList {
  title: string;
  table: DiffTable;
  /** How many are not shown. */
  left: number;
}

/** Who differs, by rule: at most this many lists, of at most `most` subjects each. */
export function diffLists({ rules }: RulesDiffDocument, most: number): { lists: DiffList[]; left: number } {
  const all = rules.flatMap(({ id, now, overTime }) => [
    listOf(`Rule ${id}: added now`, 'Seen', now.added, most),
    listOf(`Rule ${id}: gone now`, 'Seen', now.gone, most),
    listOf(`Rule ${id}: added over the recorded time`, 'First', overTime.added, most),
    listOf(`Rule ${id}: gone over the recorded time`, 'First', overTime.gone, most),
  ]);
  const filled = all.filter(({ table }) => table.rows.length > 0);
  return { lists: filled.slice(0, LISTS_MAX), left: Math.max(0, filled.length - LISTS_MAX) };
}

function listOf(title: string, when: string, { total, subjects }: DifferingView, most: number): DiffList {
  const shown = subjects.slice(0, most);
  return {
    title: `${title} (${countText(total)})`,
    table: { head: ['Who', when], rows: shown.map(({ at, subject }) => [[whoLine(subject)], [timeCell(at)]]) },
    left: total - shown.length,
  };
}
