// web: what a plan does, by rule and action: each group with a page of its targets. In: groups of planned intents.
// Out: sections with tables; the boxes belong to the form of the answer.
import { DRIFT_TARGETS_MAX } from '../../../domain/drift.ts';
import type { Plan, PlannedIntent } from '../../../domain/plan.ts';
import { countText, plural } from '../../../report/fact-text.ts';
import { type Row, Table } from '../../../report/html/table.tsx';
import { Code } from '../../../report/html/text.tsx';
import type { KindOf } from '../../../report/plan-sentence.ts';
import { Pager } from '../../parts/pager.tsx';
import { pathOf, RuleButton } from './answer-form.tsx';
import { DriftPart } from './drift.tsx';
import { type PlanGroup, type PlanQuery, rulesOf } from './groups.ts';
import type { TargetStory } from './stories.ts';
import { EffectCell, Facts, hasWords, Story, Target, Tick } from './target-cells.tsx';

export interface Shown {
  plan: Plan;
  kindOf: KindOf;
  query: PlanQuery;
  /** Its targets have boxes to tick. */
  canAnswer: boolean;
  /** Whether targets can be compared with now. */
  hasDrift: boolean;
  /** By key: what was done to the target before, and for this plan. */
  stories: ReadonlyMap<string, TargetStory>;
}

export function Group({ group, shown }: { group: PlanGroup; shown: Shown }) {
  const { plan, canAnswer, query } = shown;
  const { at, rules, action, total, found, from, intents } = group;
  const id = `group-${at}`;
  const isSearched = (query.q ?? '') !== '';
  const ofRules = plan.intents.length === total ? 0 : countOf(plan, rules);
  const hasStory = intents.some(({ key }) => hasWords(shown.stories.get(key)));
  const columns = [
    ...(canAnswer ? ['Tick'] : []),
    'Target and devices',
    { head: 'Facts when the plan was made', kind: 'facts' as const },
    'Effect',
    ...(hasStory ? [canAnswer ? 'Before' : 'Outcome'] : []),
  ];
  return (
    <section class="card" id={id} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>
        {countText(total)} × <Code>{action}</Code> by {rules.join(', ')}
      </h2>
      {canAnswer && ofRules > 0 ? (
        <p>
          <RuleButton rules={rules} count={ofRules} />
        </p>
      ) : null}
      {intents.length > 1 ? <GroupTools id={id} canTick={canAnswer} /> : null}
      <Table
        caption={`${action} by ${rules.join(', ')}`}
        columns={columns}
        rows={intents.map((intent) => rowOf(intent, id, hasStory, shown))}
        empty={isSearched ? 'Nothing of it has this text.' : 'See the group by itself.'}
      />
      {found > intents.length ? (
        <p class="quiet">
          {intents.length === 0 ? 'None' : `${countText(from + 1)} to ${countText(from + intents.length)}`} of{' '}
          {countText(found)}
          {isSearched ? ` with this text (${plural(total, 'action')} in all)` : ''}.
        </p>
      ) : null}
      <Pager next={nextOf(group, shown)} text={`More of ${action} by ${rules.join(', ')}`} />
      {shown.hasDrift
        ? chunksOf(intents).map((chunk, part) => (
            <DriftPart
              id={`drift-${at}-${from + part * DRIFT_TARGETS_MAX}`}
              path={`${pathOf(plan)}/drift?${new URLSearchParams({
                ...(isSearched && { q: query.q as string }),
                group: String(at),
                from: String(from + part * DRIFT_TARGETS_MAX),
                rows: String(chunk.length),
              })}`}
              count={chunk.length}
            />
          ))
        : null}
    </section>
  );
}

const counted = new WeakMap<Plan, ReadonlyMap<string, number>>();

/** Of all actions of exactly these rules. Every group asks: the intents are counted once. */
function countOf(plan: Plan, rules: readonly string[]): number {
  const counts = counted.get(plan) ?? countsByRules(plan);
  counted.set(plan, counts);
  return counts.get(rules.join(' ')) ?? 0;
}

function countsByRules({ intents }: Plan): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const intent of intents) {
    const key = rulesOf(intent).join(' ');
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

function chunksOf(intents: readonly PlannedIntent[]): PlannedIntent[][] {
  const chunks: PlannedIntent[][] = [];
  for (let at = 0; at < intents.length; at += DRIFT_TARGETS_MAX) chunks.push(intents.slice(at, at + DRIFT_TARGETS_MAX));
  return chunks;
}

function nextOf({ at, from, found, intents }: PlanGroup, { plan, query }: Shown): string | undefined {
  const next = from + intents.length;
  if (next >= found) return undefined;
  const params = new URLSearchParams({ ...(query.q && { q: query.q }), group: String(at), from: String(next) });
  return `${pathOf(plan)}?${params}`;
}

/** Both need JavaScript, which shows them. */
function GroupTools({ id, canTick }: { id: string; canTick: boolean }) {
  return (
    <div class="tools" hidden>
      <label>
        Filter <input type="search" data-filter={id} aria-describedby={`${id}-count`} />
      </label>
      <span id={`${id}-count`} class="quiet" aria-live="polite"></span>
      {canTick ? (
        <label>
          <input type="checkbox" data-ticks={id} /> Tick all that is shown here
        </label>
      ) : null}
    </div>
  );
}

function rowOf(intent: PlannedIntent, group: string, hasStory: boolean, shown: Shown): Row {
  const { plan, canAnswer, stories } = shown;
  const cells = [
    <Target intent={intent} kindOf={shown.kindOf} />,
    <Facts intent={intent} atMs={plan.createdAt} flip={stories.get(intent.key)?.flip} isOpen={shown.hasDrift} />,
    <EffectCell intent={intent} />,
    ...(hasStory ? [<Story story={stories.get(intent.key)} />] : []),
  ];
  return { cells: canAnswer ? [<Tick intent={intent} group={group} />, ...cells] : cells };
}
