// web: the cells of a planned target: the box to tick, who has it, the facts behind it, what changes, what holds it, and what came of it. In: one action of
// a plan. Out: elements.

import { spanText } from '../../../base/time.ts';
import { deletionTexts } from '../../../domain/action.ts';
import { entryBody } from '../../../domain/audit-entry.ts';
import { type Intent, isDone } from '../../../domain/intent.ts';
import type { Plan, PlannedIntent } from '../../../domain/plan.ts';
import type { ServiceUse } from '../../../domain/store-ports.ts';
import type { Flip } from '../../../domain/verdict.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { type KindOf, kindLike } from '../../report/build-report.ts';
import { subjectPath } from '../../report/document.ts';
import { andMore, changeTexts, countText, factTexts, flipWords, plural, verbOf } from '../../report/fact-text.ts';
import { Link } from '../../report/html/link.tsx';
import { Code, Mark, Name, When, Words } from '../../report/html/text.tsx';
import { isGrave } from '../../report/state-now.ts';

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

const DEVICES_MAX = 5;
const OWNERS_MAX = 3;

interface TickProps {
  intent: PlannedIntent;
  group: string;
  isTicked: boolean;
}

/** Named by its key: exactly this action is meant, whatever else has the same target. */
export function Tick({ intent, group, isTicked }: TickProps) {
  const { key, action, target } = intent;
  return (
    <label>
      <input
        type="checkbox"
        name="target"
        value={key}
        form={FORM}
        data-ticked-by={group}
        data-counts="1"
        data-typed={isGrave(action) ? wordToType([intent]) : undefined}
        checked={isTicked}
      />
      <span class="unseen">
        Tick <Words>{`${action} ${target}`}</Words>
      </span>
    </label>
  );
}

/** More than a rule without limits of its own does at once. */
export const LARGE = 25;

/** What a person types to approve these, as they read it on the page; undefined: nothing. */
export function wordToType(intents: readonly PlannedIntent[]): string | undefined {
  const [first] = intents;
  if (intents.length <= LARGE && !intents.some(({ action }) => isGrave(action))) return undefined;
  return first && intents.length === 1 && TYPEABLE.test(first.target) ? first.target : String(intents.length);
}

/** A name with which nobody is led astray, and that a keyboard has. */
const TYPEABLE = /^[\x21-\x7e]{1,60}$/;

/** Who it is about, by name; the serial number, which nobody but the maker chooses, and the owners below. */
export function Target({ intent, kindOf }: { intent: PlannedIntent; kindOf: KindOf }) {
  const { target, basis, effect } = intent;
  const devices = effect.devices.slice(0, DEVICES_MAX);
  const known = new Set(effect.devices.map(({ id }) => id));
  const others = new Map(
    basis.filter(({ subjectId }) => !known.has(subjectId)).map((one) => [one.subjectId, one.rule]),
  );
  return (
    <>
      {devices.map(({ id, name, owners = [] }) => (
        <div>
          <Link href={subjectPath('device', id)}>{name && name !== id ? <Name>{name}</Name> : <Code>{id}</Code>}</Link>{' '}
          <span class="quiet">
            <Words>{owners.slice(0, OWNERS_MAX).join(', ')}</Words>
            {andMore(owners.length - OWNERS_MAX)}
          </span>
        </div>
      ))}
      {effect.devices.length > devices.length ? (
        <div>and {countText(effect.devices.length - devices.length)} more</div>
      ) : null}
      {[...others].slice(0, DEVICES_MAX).map(([id, rule]) => (
        <div>
          {devices.length === 0 ? null : 'because of '}
          <Link href={subjectPath(kindOf(rule) ?? kindLike(id, effect), id)}>
            <Code>{id}</Code>
          </Link>
        </div>
      ))}
      {others.has(target) ? null : (
        <div>
          <Code>{target}</Code>
        </div>
      )}
    </>
  );
}

/** The facts behind it, as they were when the plan was made, and what would end the match. */
export function factLines({ basis }: PlannedIntent, atMs: number, flip: TargetStory['flip']): string[] {
  const texts = new Set(basis.slice(0, DEVICES_MAX).flatMap(({ facts }) => factTexts(facts, atMs)));
  return [...texts, ...(flip ? [flipWords(flip, atMs)] : [])];
}

/** What changes, beyond what the title of its group and its names say; beside others, `…` is in place of its target. */
export function effectLines({ target, effect }: PlannedIntent, isAlone: boolean): string[] {
  const { devices, changes = [], deletion, ends = [] } = effect;
  const text = isAlone ? effect.text : effect.text.replaceAll(target, '…');
  const isNamed = devices.length > 0 && devices.length <= DEVICES_MAX && devices.every(({ id }) => text.includes(id));
  return [
    ...(isNamed ? [] : [text]),
    ...changeTexts(changes),
    ...(deletion ? deletionTexts(deletion) : []),
    ...ends.map((one) => `ends ${one}`),
  ];
}

/** It takes a service from everybody who uses it. */
export function isShutdown(action: string): boolean {
  return isGrave(action) && verbOf(action)?.noun === 'service';
}

/** What the numbers beside the services are of. */
export function UseWords({ use }: { use: ServiceUse | undefined }) {
  if (use === undefined) return <p>How many people use it is not known.</p>;
  const { fromMs, toMs } = use;
  return (
    <p class="quiet">
      The event log of the {spanText(toMs - fromMs)} until <When at={toMs} /> shows who used it.
    </p>
  );
}

export function usersText(use: ServiceUse | undefined, service: string): string {
  const { people, isLeast } = use?.services.get(service) ?? { people: 0, isLeast: false };
  if (people === 0) return isLeast ? 'not known' : 'nobody seen';
  return `${isLeast ? 'at least ' : ''}${plural(people, 'person', 'people')}`;
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
      {text === undefined || outcome?.word === 'succeeded' ? null : (
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

// What came of a plan's targets, what was done to them before, and what would end a match.

const NEWEST = 5;
const ENTRIES = 100;

export async function storiesOf(
  { reader }: Pick<HttpDeps, 'reader'>,
  plan: Plan,
  intents: readonly PlannedIntent[],
): Promise<ReadonlyMap<string, TargetStory>> {
  const refused = await refusedOf(reader, plan);
  const flips = await flipsOf(reader, intents);
  const stories = new Map<string, TargetStory>();
  for (const planned of intents) {
    const { rows } = await reader.newestIntents({ target: planned.target }, NEWEST);
    const own = rows.find((one) => isOf(plan, planned, one));
    const before = rows.find((one) => isDone(one) && one.createdAt < plan.createdAt && one !== own);
    const flip = flips.get(planned.basis[0]?.decisionId ?? '');
    const story: TargetStory = {
      ...(hasBegun(plan) && outcomeOf(plan, own, refused.get(`${planned.action} ${planned.target}`))),
      ...(flip && { flip }),
      ...(before && { before: { action: before.action, at: before.settledAt ?? before.createdAt } }),
    };
    stories.set(planned.key, story);
  }
  return stories;
}

/** By the decision that each rests on first. */
async function flipsOf(
  reader: HttpDeps['reader'],
  intents: readonly PlannedIntent[],
): Promise<ReadonlyMap<string, Flip>> {
  const decisions = await reader.decisionsById(intents.flatMap(({ basis: [first] }) => first?.decisionId ?? []));
  return new Map(decisions.flatMap(({ id, flip }) => (flip ? [[id, flip]] : [])));
}

function hasBegun({ status }: Plan): boolean {
  return status === 'applying' || status === 'applied' || status === 'interrupted';
}

/** One that failed before and is tried again keeps its first plan, or none. */
function isOf({ id, decidedAt }: Plan, { action }: PlannedIntent, one: Intent): boolean {
  if (one.action !== action || decidedAt === undefined) return false;
  return one.planId === id || (one.sentAt ?? 0) >= decidedAt;
}

function outcomeOf(plan: Plan, own: Intent | undefined, refused: string | undefined): TargetStory {
  if (own === undefined) {
    if (refused !== undefined) return { outcome: { word: 'skip', text: 'refused' }, text: refused };
    return { outcome: { word: 'skip', text: plan.status === 'applied' ? 'needed no call' : 'not begun' } };
  }
  const { status, outcome, note } = own;
  if (status === 'withdrawn') return { outcome: { word: 'skip', text: 'refused' }, text: note };
  if (outcome === 'unknown') return { outcome: { word: 'unknown', text: 'in doubt' }, text: note };
  if (outcome !== undefined) return { outcome: { word: outcome, text: outcome }, text: note };
  if (status === 'sent') return { outcome: { word: 'running', text: 'under way' } };
  return { outcome: { word: 'skip', text: 'not begun' } };
}

/** What the checks refused when applying began, by action and target. */
async function refusedOf(reader: HttpDeps['reader'], plan: Plan): Promise<ReadonlyMap<string, string>> {
  const refused = new Map<string, string>();
  if (!hasBegun(plan) || plan.decidedAt === undefined) return refused;
  const entries = await reader.audit({ kind: 'plan.applying', since: plan.decidedAt, limit: ENTRIES });
  for (const entry of entries.reverse()) {
    const body: { plan?: string; refused?: Refused[] } = entryBody(entry);
    if (body.plan !== plan.id) continue;
    for (const { action, target, reason } of body.refused ?? []) refused.set(`${action} ${target}`, reason);
  }
  return refused;
}

interface Refused {
  action: string;
  target: string;
  reason: string;
}
