// web: what changed about a plan since it was made, and while a person reads it. In: the plan as it is and as it was read. Out: elements; their page
// keeps what they read, their ticks and their words.

import { canonicalJson } from '../../../base/json.ts';
import {
  type ComparedIntents,
  changeText,
  type Plan,
  type PlannedIntent,
  type PlanRevision,
} from '../../../domain/plan.ts';
import { changeTexts, countText, plural } from '../../report/fact-text.ts';
import { Link, useAddress } from '../../report/html/link.tsx';
import { Code, When, Words } from '../../report/html/text.tsx';
import { FORM, pathOf } from './plan-target.tsx';

const LEFT_MAX = 20;

/** What was in the plan and is not any longer, the last first. */
export function Left({ revisions }: { revisions: readonly PlanRevision[] }) {
  const left = revisions.flatMap(({ change }) => change.left).reverse();
  if (left.length === 0) return null;
  return (
    <details>
      <summary>{plural(left.length, 'action')} left it</summary>
      <ul class="list">
        {left.slice(0, LEFT_MAX).map(({ action, target, reason }) => (
          <li>
            <Code>{action}</Code> <Code>{target}</Code>: <Words>{reason}</Words>
          </li>
        ))}
      </ul>
      {left.length > LEFT_MAX ? <p class="quiet">{countText(left.length - LEFT_MAX)} more left earlier.</p> : null}
    </details>
  );
}

interface SinceProps {
  plan: Plan;
  /** As this page shows it. */
  read: Plan;
  compared: ComparedIntents;
  revisions: readonly PlanRevision[];
  run: number | undefined;
  canAnswer: boolean;
}

export function Since({ plan, read, compared, revisions, run, canAnswer }: SinceProps) {
  const { joined, left, changed } = compared;
  const at = useAddress();
  const whys = new Map(
    revisions.flatMap(({ change }) => change.left.map((one) => [`${one.action} ${one.target}`, one])),
  );
  const gone = left.map((one) => ({ ...one, why: whys.get(`${one.action} ${one.target}`)?.reason }));
  const same = read.intents.length - left.length - changed.length;
  const counts = { joined: joined.length, left: left.length, changed: changed.length };
  return (
    <section class="notice wait" id="since" role="status">
      <p>
        Carried on{run === undefined ? '' : <> by run {run}</>} <When at={plan.createdAt} />, while you read it:{' '}
        {changeText(counts)}. Your answer covers the {plural(same, 'action')} that you read and that stayed the same.
      </p>
      <ul class="list">
        {gone.slice(0, LEFT_MAX).map(({ key, action, target, why }) => (
          <li data-key={key} data-how="left">
            left: <Code>{action}</Code> <Code>{target}</Code>: <Words>{why ?? 'it is no longer planned'}</Words>
          </li>
        ))}
        {changed.slice(0, LEFT_MAX).map(({ was, now }) => (
          <li data-key={was.key} data-how="changed">
            changed: <Code>{now.action}</Code> <Code>{now.target}</Code>:{' '}
            <Words>{changeTexts(factChanges(was, now)).join('; ') || 'what it is based on'}</Words>
          </li>
        ))}
        {joined.slice(0, LEFT_MAX).map(({ action, target, basis }) => (
          <li>
            joined: <Code>{action}</Code> <Code>{target}</Code> by{' '}
            {[...new Set(basis.map(({ rule }) => rule))].join(', ')}
          </li>
        ))}
      </ul>
      {[gone, changed, joined].some(({ length }) => length > LEFT_MAX) ? (
        <p class="quiet">Of each, {LEFT_MAX} are named.</p>
      ) : null}
      {canAnswer ? (
        <button type="submit" form={FORM} formaction={at(`${pathOf(plan)}/again`)} formnovalidate>
          Read it as it is now, with your ticks and words
        </button>
      ) : (
        <Link href={pathOf(plan)}>Read it as it is now</Link>
      )}
    </section>
  );
}

function factChanges(was: PlannedIntent, now: PlannedIntent) {
  const before = Object.assign({}, ...was.basis.map(({ facts }) => facts)) as PlannedIntent['basis'][number]['facts'];
  const after = Object.assign({}, ...now.basis.map(({ facts }) => facts)) as typeof before;
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((path) => canonicalJson(before[path] ?? null) !== canonicalJson(after[path] ?? null))
    .map((path) => ({ path, from: before[path] ?? null, to: after[path] ?? null }));
}
