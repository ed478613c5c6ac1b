// web: what has changed about some targets of a plan since it was made. In: the plan, a group and a place in it. Out: a part that reads
// itself after the page; without JavaScript a link to the same as a page.

import { DRIFT_TARGETS_MAX, type Drift } from '../../../domain/drift.ts';
import type { Plan } from '../../../domain/plan.ts';
import type { HttpDeps } from '../../../http/deps.ts';
import { changeTexts, plural } from '../../../report/fact-text.ts';
import { Link, useAddress } from '../../../report/html/link.tsx';
import { Table } from '../../../report/html/table.tsx';
import { Code, Words } from '../../../report/html/text.tsx';
import { groupsOf, type PlanQuery } from './groups.ts';

export function DriftPart({ id, path, count }: { id: string; path: string; count: number }) {
  const at = useAddress();
  if (count === 0) return null;
  return (
    <div id={id} class="drift" hx-get={at(path)} hx-select={`#${id}`} hx-trigger="load" hx-swap="outerHTML">
      <Link href={path}>Compare {plural(count, 'target')} with now</Link>
    </div>
  );
}

/** Errors: those of the port. */
export async function driftOf(
  { planDrift }: Pick<HttpDeps, 'planDrift'>,
  plan: Plan,
  query: PlanQuery,
): Promise<readonly Drift[]> {
  const [group] = groupsOf(plan, { ...query, group: query.group ?? 0 });
  const intents = (group?.intents ?? []).slice(0, query.rows ?? DRIFT_TARGETS_MAX);
  if (intents.length === 0) return [];
  const keys = new Set(intents.map(({ key }) => key));
  const drifts = await planDrift(plan.id, [...new Set(intents.map(({ target }) => target))]);
  return drifts.filter(({ key }) => keys.has(key));
}

export function DriftTable({ id, drifts }: { id: string; drifts: readonly Drift[] }) {
  const differing = drifts.filter((one) => textsOf(one).length > 0);
  const same = drifts.length - differing.length;
  return (
    <div id={id} class="drift">
      <p>
        Compared with now: {same} of {plural(drifts.length, 'target')} unchanged.
      </p>
      {differing.length === 0 ? null : (
        <Table
          caption="What differs from the plan now"
          columns={['Target', 'Differs now: then → now', 'Applying it now']}
          rows={differing.map((drift) => ({
            cells: [
              <Code>{drift.target}</Code>,
              textsOf(drift).map((text) => (
                <div>
                  <Words>{text}</Words>
                </div>
              )),
              drift.refused ? (
                <>
                  refused: <Words>{drift.refused.reasonText}</Words>
                </>
              ) : (
                ''
              ),
            ],
          }))}
        />
      )}
    </div>
  );
}

function textsOf({ changed, gone, refused, unread }: Drift): string[] {
  if (unread !== undefined) return [`cannot be read now: ${unread}`];
  const texts = [
    ...changeTexts(changed.map(({ field, then, now }) => ({ path: field, from: then, to: now }))),
    ...gone.map((subject) => `${subject} is gone`),
  ];
  return texts.length > 0 || refused === undefined ? texts : ['no fact of the record'];
}
