// web: a plan that waits, as an entry of a list: its status, what it does by rule and action, and its end. In: a plan's line. Out: elements.
// A plan may have ten thousand intents: only those of plans that are shown are counted.
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

export function countedPlans(reader: HttpDeps['reader'], lines: readonly PlanLine[]): Promise<CountedPlan[]> {
  return Promise.all(
    lines.map(async (line) => {
      const page = await reader.planPage(line.id, { limit: 0 });
      return { line, counts: page?.counts ?? [] };
    }),
  );
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
