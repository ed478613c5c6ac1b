// web: a plan that waits, as an entry of a list: its status, what it does by rule and action, and its end. In: a plan's line. Out: elements.
// A plan may have ten thousand intents: only those of plans that are shown are counted.

import type { PlanLine } from '../../domain/page-reader.ts';
import type { PlannedCount } from '../../domain/planned-counts.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { countText } from '../../report/fact-text.ts';
import { Link } from '../../report/html/link.tsx';
import { Mark } from '../../report/html/marks.tsx';
import { Code, When } from '../../report/html/text.tsx';

interface CountedPlan {
  line: PlanLine;
  counts: readonly PlannedCount[];
}

/** By digest, which seals what a plan has: its intents are counted once, however often a list shows it. */
const kept = new Map<string, readonly PlannedCount[]>();
const KEPT_MAX = 100;

export function countedPlans(reader: HttpDeps['reader'], lines: readonly PlanLine[]): Promise<CountedPlan[]> {
  return Promise.all(lines.map(async (line) => ({ line, counts: await countsOf(reader, line) })));
}

async function countsOf(reader: HttpDeps['reader'], { id, digest }: PlanLine): Promise<readonly PlannedCount[]> {
  const known = kept.get(digest);
  if (known) return known;
  const counts = await reader.countsOfPlan(id);
  if (kept.size >= KEPT_MAX) kept.clear();
  kept.set(digest, counts);
  return counts;
}

export function planLine({ line: { id, status, mode, expiresAt }, counts }: CountedPlan) {
  return (
    <>
      <Link href={`/plans/${encodeURIComponent(id)}`}>Plan {id}</Link> <Mark word={status} />{' '}
      {mode === 'dry-run' ? <Mark word="dry-run" text="of a dry run" /> : null}
      {counts.map(({ rules, action, count }) => (
        <div>
          {countText(count)} × <Code>{action}</Code> by {rules.join(', ')}
        </div>
      ))}
      <div class="quiet">
        expires <When at={expiresAt} />
      </div>
    </>
  );
}
