// web: the cells of a planned target: the box to tick, who has it, the facts behind it, what changes, and what came of it. In: a planned
// intent. Out: elements. Names of devices and people are hostile.
import { deletionTexts } from '../../../domain/deletion.ts';
import type { PlannedIntent } from '../../../domain/plan.ts';
import { changeTexts, countText, factTexts, flipWords } from '../../../report/fact-text.ts';
import { Mark } from '../../../report/html/marks.tsx';
import { Code, When, Words } from '../../../report/html/text.tsx';
import { subjectPath, Who } from '../../../report/html/who.tsx';
import { type KindOf, kindLike } from '../../../report/plan-sentence.ts';
import { FORM } from './answer-form.tsx';
import type { TargetStory } from './stories.ts';

const DEVICES_MAX = 5;

/** Named by its key: exactly this action is meant, whatever else has the same target. */
export function Tick({ intent: { key, action, target }, group }: { intent: PlannedIntent; group: string }) {
  return (
    <label>
      <input type="checkbox" name="target" value={key} form={FORM} data-ticked-by={group} />
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
      {held && isOpen ? (
        <div>
          <Mark word="hold" text="held" /> <Words>{reasonText || reason}</Words>
        </div>
      ) : null}
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
