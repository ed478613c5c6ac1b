// web: what waits for a person, on the first page: plans, and actions in doubt, parked or failed. In: the store. Out: a list whose entries
// lead to where they are answered. It reads no plan as a whole.
import type { PlanLine } from '../../../domain/page-reader.ts';
import type { PlanStatus } from '../../../domain/plan.ts';
import type { PlannedCount } from '../../../domain/planned-counts.ts';
import type { HttpDeps } from '../../../http/deps.ts';
import { countText, plural } from '../../../report/fact-text.ts';
import { Mark } from '../../../report/html/marks.tsx';
import { Code, When } from '../../../report/html/text.tsx';

const PLANS = 5;

export async function waits({ reader }: HttpDeps) {
  const [lines, more] = await waitingPlans(reader);
  const unsettled = await Promise.all(
    (['unknown', 'parked'] as const).map(async (outcome) => ({
      outcome,
      total: (await reader.newestIntents({ outcome }, 1)).total,
    })),
  );
  const inDoubt = unsettled.filter(({ total }) => total > 0);
  const failures = await reader.openFailures();
  const isNothing = lines.length === 0 && inDoubt.length === 0 && failures.length === 0;
  return (
    <section class="card">
      <h2>Waits for a person</h2>
      {isNothing ? <p class="empty">Nothing waits.</p> : null}
      <ul class="list">
        {lines.map((line) => (
          <li data-row>{planLine(line)}</li>
        ))}
        {more ? (
          <li data-row>
            <a href="/plans">more plans</a>
          </li>
        ) : null}
        {inDoubt.map(({ outcome, total }) => (
          <li data-row>
            <a href="/in-doubt">
              {plural(total, 'action')} {outcome === 'unknown' ? 'in doubt' : 'parked'}
            </a>
          </li>
        ))}
        {failures.length > 0 ? (
          <li data-row>
            <a href="/in-doubt">{plural(failures.length, 'action')} failed and still to be done</a>
          </li>
        ) : null}
      </ul>
    </section>
  );
}

interface WaitingPlan {
  line: PlanLine;
  counts: readonly PlannedCount[];
}

/** The first of them, and whether there are more. A plan may have ten thousand intents: only those that are shown are counted. */
async function waitingPlans(reader: HttpDeps['reader']): Promise<[WaitingPlan[], boolean]> {
  const ofStatus = async (status: PlanStatus) => reader.planLines({ status }, { limit: PLANS + 1 });
  const all = (await Promise.all((['pending', 'approved', 'interrupted'] as const).map(ofStatus))).flat();
  const shown = await Promise.all(
    all.slice(0, PLANS).map(async (line) => {
      const page = await reader.planPage(line.id, { limit: 0 });
      return { line, counts: page?.counts ?? [] };
    }),
  );
  return [shown, all.length > PLANS];
}

function planLine({ line: { id, status, mode, expiresAt }, counts }: WaitingPlan) {
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
