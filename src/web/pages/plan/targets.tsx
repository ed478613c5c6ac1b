// web: what a plan does, by rule and action: each target with who has it, the facts behind it, why it is held, what changes, and what came
// of it. In: groups of planned intents. Out: sections with tables; the boxes belong to the form of the answer.
import { deletionTexts } from '../../../domain/deletion.ts';
import { DRIFT_TARGETS_MAX } from '../../../domain/drift.ts';
import type { Plan, PlannedIntent } from '../../../domain/plan.ts';
import type { SubjectKind } from '../../../domain/subjects.ts';
import { changeTexts, countText, factTexts, flipWords, plural } from '../../../report/fact-text.ts';
import { Mark } from '../../../report/html/marks.tsx';
import { type Row, Table } from '../../../report/html/table.tsx';
import { Code, When, Words } from '../../../report/html/text.tsx';
import { subjectPath, Who } from '../../../report/html/who.tsx';
import type { KindOf } from '../../../report/plan-sentence.ts';
import { Pager } from '../../parts/pager.tsx';
import { FORM, pathOf, RuleButton } from './answer-form.tsx';
import { DriftPart } from './drift.tsx';
import type { PlanGroup, PlanQuery } from './groups.ts';
import type { TargetStory } from './stories.ts';

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

const DEVICES_MAX = 5;

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
    'Facts when the plan was made',
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
              })}`}
              count={chunk.length}
            />
          ))
        : null}
    </section>
  );
}

/** Of all actions of exactly these rules. */
function countOf({ intents }: Plan, rules: readonly string[]): number {
  return intents.filter(
    ({ basis }) =>
      rules.every((rule) => basis.some((one) => one.rule === rule)) && basis.every(({ rule }) => rules.includes(rule)),
  ).length;
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
    <Facts intent={intent} atMs={plan.createdAt} flip={stories.get(intent.key)?.flip} />,
    <EffectCell intent={intent} />,
    ...(hasStory ? [<Story story={stories.get(intent.key)} />] : []),
  ];
  return { cells: canAnswer ? [<Tick intent={intent} group={group} />, ...cells] : cells };
}

/** Named by its key: exactly this action is meant, whatever else has the same target. */
function Tick({ intent: { key, action, target }, group }: { intent: PlannedIntent; group: string }) {
  return (
    <label>
      <input type="checkbox" name="target" value={key} form={FORM} data-ticked-by={group} />
      <span class="unseen">
        Tick <Words>{`${action} ${target}`}</Words>
      </span>
    </label>
  );
}

function Target({ intent, kindOf }: { intent: PlannedIntent; kindOf: KindOf }) {
  const { target, basis, effect } = intent;
  const devices = effect.devices.slice(0, DEVICES_MAX);
  const known = new Set(effect.devices.map(({ id }) => id));
  const others = new Map(
    basis.filter(({ subjectId }) => !known.has(subjectId)).map((one) => [one.subjectId, one.rule]),
  );
  const kind = (rule: string, id: string): SubjectKind | undefined =>
    kindOf(rule) ?? (id.includes('@') ? 'user' : undefined);
  return (
    <>
      {others.has(target) ? null : (
        <div>
          <Code>{target}</Code>
        </div>
      )}
      {[...others].slice(0, DEVICES_MAX).map(([id, rule]) => (
        <div>
          <Who who={{ id }} href={hrefOf(kind(rule, id), id)} />
        </div>
      ))}
      {devices.map((device) => (
        <div>
          <Who who={device} href={subjectPath('device', device.id)} shown={target} />
        </div>
      ))}
      {effect.devices.length > devices.length ? (
        <div>and {countText(effect.devices.length - devices.length)} more</div>
      ) : null}
    </>
  );
}

function hrefOf(kind: SubjectKind | undefined, id: string): string | undefined {
  return kind && subjectPath(kind, id);
}

interface FactsProps {
  intent: PlannedIntent;
  atMs: number;
  flip: TargetStory['flip'];
}

function Facts({ intent: { basis, held, reasonText, reason }, atMs, flip }: FactsProps) {
  const texts = [...new Set(basis.slice(0, DEVICES_MAX).flatMap(({ facts }) => factTexts(facts, atMs)))];
  return (
    <>
      <Lines texts={flip ? [...texts, flipWords(flip, atMs)] : texts} />
      {held ? (
        <div>
          <Mark word="hold" text="held" /> <Words>{reasonText || reason}</Words>
        </div>
      ) : null}
    </>
  );
}

function EffectCell({ intent: { effect } }: { intent: PlannedIntent }) {
  const { text, changes = [], deletion, ends = [] } = effect;
  return (
    <Lines
      texts={[
        text,
        ...changeTexts(changes),
        ...(deletion ? deletionTexts(deletion) : []),
        ...ends.map((one) => `ends ${one}`),
      ]}
    />
  );
}

function Lines({ texts }: { texts: readonly string[] }) {
  return (
    <>
      {texts.map((text) => (
        <div>
          <Words>{text}</Words>
        </div>
      ))}
    </>
  );
}

function hasWords(story: TargetStory | undefined): boolean {
  return story?.outcome !== undefined || story?.before !== undefined;
}

function Story({ story }: { story: TargetStory | undefined }) {
  if (story === undefined) return null;
  const { outcome, text, before } = story;
  return (
    <>
      {outcome === undefined ? null : (
        <div>
          <Mark word={outcome.word} text={outcome.text} />
        </div>
      )}
      {text === undefined ? null : (
        <div>
          <Words>{text}</Words>
        </div>
      )}
      {before === undefined ? null : (
        <div class="quiet">
          before: <Code>{before.action}</Code> <When at={before.at} />
        </div>
      )}
    </>
  );
}
