// report: matches over the replayed time as a line of signs, for text. In: a replay as a document. Out: rows for rules that matched.
import { countText } from '../fact-text.ts';
import { chart } from '../figure-words.ts';
import { type Marked, whole } from '../marked.ts';
import type { ReplayBucketView, ReplayDocument } from './document.ts';

const SIGNS_MAX = 40;
const RULES_MAX = 20;

/** The same stretches, fewer: the most that matched, and all that was done. */
export function mergedBuckets(buckets: readonly ReplayBucketView[], most: number): ReplayBucketView[] {
  const size = Math.max(1, Math.ceil(buckets.length / most));
  const merged: ReplayBucketView[] = [];
  for (let at = 0; at < buckets.length; at += size) merged.push(oneOf(buckets.slice(at, at + size)));
  return merged;
}

function oneOf(buckets: readonly ReplayBucketView[]): ReplayBucketView {
  const [first, last] = [buckets[0] as ReplayBucketView, buckets.at(-1) as ReplayBucketView];
  const rules: ReplayBucketView['rules'] = {};
  for (const bucket of buckets)
    for (const [id, one] of Object.entries(bucket.rules)) {
      const sum = rules[id] ?? { matches: 0, acts: 0, undos: 0, unknown: 0 };
      rules[id] = {
        matches: Math.max(sum.matches, one.matches),
        acts: sum.acts + one.acts,
        undos: sum.undos + one.undos,
        unknown: Math.max(sum.unknown, one.unknown),
      };
    }
  const runs = buckets.reduce((sum, bucket) => sum + bucket.runs, 0);
  return { from: first.from, to: last.to, runs, rules };
}

/** A sign for each stretch; `·` where no run is recorded. */
export function sparkText({ rules, buckets }: ReplayDocument): Marked[][] {
  const merged = mergedBuckets(buckets, SIGNS_MAX);
  if (merged.length < 2) return [];
  return rules
    .filter((rule) => rule.matches > 0)
    .slice(0, RULES_MAX)
    .map(({ id }) => {
      const counts = merged.map((bucket) => bucket.rules[id]?.matches ?? 0);
      const signs = [...chart(counts)].map((sign, at) => (merged[at]?.runs === 0 ? '·' : sign)).join('');
      const seen = counts.filter((_, at) => merged[at]?.runs !== 0);
      const words = `${countText(Math.min(...seen))} to ${countText(Math.max(...seen))}, last ${countText(seen.at(-1) ?? 0)}`;
      return [whole(id), whole(signs), whole(words)];
    });
}
