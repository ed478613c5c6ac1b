// web: what waits for a person, on the first page: plans, and actions in doubt, parked or failed. In: the store. Out: a list whose entries
// lead to where they are answered. It reads no plan as a whole.

import type { PlanStatus } from '../../../domain/plan.ts';
import type { HttpDeps } from '../../../http/deps.ts';
import { plural } from '../../../report/fact-text.ts';
import { Link } from '../../../report/html/link.tsx';
import { countedPlans, planLine } from '../plan-row.tsx';

const PLANS = 5;

export async function waits({ reader }: HttpDeps) {
  const { plans, isMore } = await waitingPlans(reader);
  const unsettled = await Promise.all(
    (['unknown', 'parked'] as const).map(async (outcome) => ({
      outcome,
      total: (await reader.newestIntents({ outcome }, 1)).total,
    })),
  );
  const inDoubt = unsettled.filter(({ total }) => total > 0);
  const failures = await reader.openFailures();
  const isNothing = plans.length === 0 && inDoubt.length === 0 && failures.length === 0;
  return (
    <section class="card">
      <h2>Waits for a person</h2>
      {isNothing ? <p class="empty">Nothing waits.</p> : null}
      <ul class="list">
        {plans.map((plan) => (
          <li data-row>{planLine(plan)}</li>
        ))}
        {isMore ? (
          <li data-row>
            <Link href="/plans">more plans</Link>
          </li>
        ) : null}
        {inDoubt.map(({ outcome, total }) => (
          <li data-row>
            <Link href="/in-doubt">
              {plural(total, 'action')} {outcome === 'unknown' ? 'in doubt' : 'parked'}
            </Link>
          </li>
        ))}
        {failures.length > 0 ? (
          <li data-row>
            <Link href="/in-doubt">{plural(failures.length, 'action')} failed and still to be done</Link>
          </li>
        ) : null}
      </ul>
    </section>
  );
}

/** The first of them, and whether there are more. */
async function waitingPlans(reader: HttpDeps['reader']) {
  const ofStatus = (status: PlanStatus) => reader.planLines({ status }, { limit: PLANS + 1 });
  const all = (await Promise.all((['pending', 'approved', 'interrupted'] as const).map(ofStatus))).flat();
  return { plans: await countedPlans(reader, all.slice(0, PLANS)), isMore: all.length > PLANS };
}
