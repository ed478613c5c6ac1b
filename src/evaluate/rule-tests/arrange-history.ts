// evaluate: the history of a rule test → what runs saw of its subject. In: what the test says was seen, and the record. Out: runs, at least one a
// day but in gaps; a field of which nothing is said always was as it is in the record.

import type { FactChange } from '../../domain/fact-change.ts';
import { type Fact, type Facts, isFacts } from '../../domain/facts.ts';
import { LOOK_BACK_GAP_MS, type LookBackItem } from '../../domain/look-back.ts';
import { summaryOf } from '../../domain/target.ts';
import type { LoadedRule, RuleTest } from '../language/loaded-rule.ts';
import { ownAt } from '../language/typed-value.ts';
import { fieldAt } from '../record-types/field-types.ts';
import { recordType } from '../record-types/index.ts';
import { timeOf } from './given-times.ts';

/** Undefined for a rule that does not look back. */
export function arrangeHistory(
  { subject, reads }: Pick<LoadedRule, 'subject' | 'reads'>,
  { history, gaps }: Pick<RuleTest, 'history' | 'gaps'>,
  record: Facts,
  { nowMs, pastMs }: { nowMs: number; pastMs: number },
): LookBackItem[] | undefined {
  if (reads.lookBack.size === 0) return undefined;
  const { id } = summaryOf(subject, record);
  const said = history.toSorted((a, b) => b.agoMs - a.agoMs);
  const isInGap = (agoMs: number) => gaps.some(({ fromAgoMs, toAgoMs }) => agoMs < fromAgoMs && agoMs > toAgoMs);
  const daily = Array.from({ length: Math.floor(pastMs / LOOK_BACK_GAP_MS) }, (_, day) => (day + 1) * LOOK_BACK_GAP_MS);
  const edges = gaps.flatMap(({ fromAgoMs, toAgoMs }) => [fromAgoMs, toAgoMs]);
  const quiet = [...daily, ...edges].filter((agoMs) => agoMs > 0 && !isInGap(agoMs));
  const times = [...new Set([...quiet, ...said.map(({ agoMs }) => agoMs)])].sort((a, b) => b - a);
  const change = (path: string, value: Fact | undefined): FactChange => ({ kind: subject, subject: id, path, value });
  const seen = (path: string, value: Fact): FactChange => {
    const type = fieldAt(recordType(subject), path.split('.'))?.type;
    return change(path, value === null ? undefined : isFacts(value) ? timeOf(value, type, nowMs) : value);
  };
  const first = [...reads.lookBack].map((path) => {
    const earliest = said.find(({ values }) => Object.hasOwn(values, path));
    return earliest ? seen(path, earliest.values[path] as Fact) : change(path, ownAt(record, path.split('.')));
  });
  return times.map((agoMs, index): LookBackItem => {
    const now = said.filter((each) => each.agoMs === agoMs).flatMap(({ values }) => Object.entries(values));
    const changes = [...(index === 0 ? first : []), ...now.map(([path, value]) => seen(path, value))];
    return { kind: 'run', run: { atMs: nowMs - agoMs, read: [subject], singly: [], changes } };
  });
}
