// web: a plan that waits, as an entry of a list: its status, what it does by rule and action, and its end. In: a plan's line. Out: elements.
// A plan may have ten thousand intents: only those of plans that are shown are counted, and once, since a sealed plan keeps its digest.
import type { PlanLine } from '../../domain/page-reader.ts';
import type { PlannedCount } from '../../domain/planned-counts.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { countText } from '../../report/fact-text.ts';
import { Mark } from '../../report/html/marks.tsx';
import { Code, When } from '../../report/html/text.tsx';

interface CountedPlan {
  line: PlanLine;
  counts: readonly PlannedCount[];
}

const PLANS_KEPT = 100;
const counted = new WeakMap<HttpDeps['reader'], Map<string, readonly PlannedCount[]>>();

async function countsOf(reader: HttpDeps['reader'], { id, digest }: PlanLine): Promise<readonly PlannedCount[]> {
  const known = counted.get(reader) ?? new Map<string, readonly PlannedCount[]>();
  counted.set(reader, known);
  const key = `${id} ${digest}`;
  const counts = known.get(key) ?? (await reader.planPage(id, { limit: 0 }))?.counts ?? [];
  if (known.size >= PLANS_KEPT) known.clear();
  known.set(key, counts);
  return counts;
}

export function countedPlans(reader: HttpDeps['reader'], lines: readonly PlanLine[]): Promise<CountedPlan[]> {
  return Promise.all(lines.map(async (line) => ({ line, counts: await countsOf(reader, line) })));
}

export function planLine({ line: { id, status, mode, expiresAt }, counts }: CountedPlan) {
  return (
    <>
      <a href={`/plans/${encodeURIComponent(id)}`}>Plan {id}</a> <Mark word={status} />{' '}
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
