// web: the cells of a planned target: the box to tick, who has it, the facts behind it, what changes, what holds it, and what came of it. In: one action of
// a plan. Out: elements.

import { deletionTexts } from '../../../domain/action.ts';
import type { Plan, PlannedIntent } from '../../../domain/plan.ts';
import type { Flip } from '../../../domain/verdict.ts';
import { type KindOf, kindLike } from '../../report/build-report.ts';
import { subjectPath } from '../../report/document.ts';
import { changeTexts, countText, factTexts, flipWords } from '../../report/fact-text.ts';
import { Who } from '../../report/html/document.tsx';
import { Code, Lines, Mark, When, Words } from '../../report/html/text.tsx';

export interface TargetStory {
  /** `word`: of the product, for its colour. */
  outcome?: { word: string; text: string };
  /** Why it came so. */
  text?: string | undefined;
  /** The last thing done to the target before this plan. */
  before?: { action: string; at: number };
  /** The smallest change after which the rule would not match, as it was found when it began to match. */
  flip?: Flip;
}

export const FORM = 'approve';

export function pathOf({ id }: Pick<Plan, 'id'>): string {
  return `/plans/${encodeURIComponent(id)}`;
}

export function Held({ intent: { reasonText, reason } }: { intent: Pick<PlannedIntent, 'reason' | 'reasonText'> }) {
  return (
    <div>
      <Mark word="hold" text="waits" /> <Words>{reasonText || reason}</Words>
    </div>
  );
}

const DEVICES_MAX = 5;

/** Named by its key: exactly this action is meant, whatever else has the same target. */
export function Tick({ intent, group, isTicked }: { intent: PlannedIntent; group: string; isTicked: boolean }) {
  const { key, action, target } = intent;
  return (
    <label>
      <input type="checkbox" name="target" value={key} form={FORM} data-ticked-by={group} checked={isTicked} />
      <span class="unseen">
        Tick <Words>{`${action} ${target}`}</Words>
      </span>
    </label>
  );
}

export function Target({ intent, kindOf }: { intent: PlannedIntent; kindOf: KindOf }) {
  const { target, basis, effect } = intent;
  const devices = effect.devices.slice(0, DEVICES_MAX);
  const known = new Set(effect.devices.map(({ id }) => id));
  const others = new Map(
    basis.filter(({ subjectId }) => !known.has(subjectId)).map((one) => [one.subjectId, one.rule]),
  );
  return (
    <>
      {others.has(target) ? null : (
        <div>
          <Code>{target}</Code>
        </div>
      )}
      {[...others].slice(0, DEVICES_MAX).map(([id, rule]) => (
        <div>
          <Who who={{ id }} href={subjectPath(kindOf(rule) ?? kindLike(id, effect), id)} />
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

interface FactsProps {
  intent: PlannedIntent;
  atMs: number;
  flip: TargetStory['flip'];
  /** Something of the plan may still be called: what holds it matters. */
  isOpen: boolean;
}

export function Facts({ intent: { basis, held, reasonText, reason }, atMs, flip, isOpen }: FactsProps) {
  const texts = [...new Set(basis.slice(0, DEVICES_MAX).flatMap(({ facts }) => factTexts(facts, atMs)))];
  return (
    <>
      <Lines texts={flip ? [...texts, flipWords(flip, atMs)] : texts} />
      {held && isOpen ? <Held intent={{ reasonText, reason }} /> : null}
    </>
  );
}

export function EffectCell({ intent: { effect } }: { intent: PlannedIntent }) {
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

export function hasWords(story: TargetStory | undefined): boolean {
  return story?.outcome !== undefined || story?.before !== undefined;
}

export function Story({ story }: { story: TargetStory | undefined }) {
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
