// web: a plan that waits, as an entry of a list: its status, what it does by rule and action, and its end. In: a plan. Out: elements.
import type { Plan } from '../../domain/plan.ts';
import { plannedCounts } from '../../domain/planned-counts.ts';
import { countText } from '../../report/fact-text.ts';
import { Mark } from '../../report/html/marks.tsx';
import { Code, When } from '../../report/html/text.tsx';

export function planLine({ id, status, intents, mode, expiresAt }: Plan) {
  return (
    <>
      <a href={`/plans/${encodeURIComponent(id)}`}>Plan {id}</a> <Mark word={status} />{' '}
      {mode === 'dry-run' ? <Mark word="dry-run" text="of a dry run" /> : null}
      {plannedCounts(intents).map(({ rules, action, count }) => (
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
