// web: the forms with which a person answers a plan: all of it, the ticked part, all but that, one rule's; or no. In: a plan. Out: forms;
// the boxes and buttons among its targets belong to the first. Each sends the digest of what the person has seen.

import { PLANS } from '../../../contract/plans.ts';
import { entryBody } from '../../../domain/audit-entry.ts';
import { DRIFT_TARGETS_MAX, type Drift } from '../../../domain/check.ts';
import { nameKey } from '../../../domain/identity.ts';
import { type Intent, isDone } from '../../../domain/intent.ts';
import type { Plan, PlannedIntent, PlanProgress } from '../../../domain/plan.ts';
import type { Flip } from '../../../domain/verdict.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { changeTexts, countText, plural } from '../../report/fact-text.ts';
import { grouped } from '../../report/grouped.ts';
import { Form, Link, useAddress } from '../../report/html/link.tsx';
import { Code, Table, Words } from '../../report/html/text.tsx';
import { appliedWords, reportPlan } from '../../report/plan-view.ts';
import { progressWords } from '../../report/words.ts';
import { Act, Said } from '../parts/act.tsx';

export const FORM = 'approve';

export function pathOf({ id }: Pick<Plan, 'id'>): string {
  return `/plans/${encodeURIComponent(id)}`;
}

/** `paged`: not all of its targets are on this page. `canBreak`: it may be let through the change window in force. */
export function AnswerForm({ plan, paged, canBreak }: { plan: Plan; paged: boolean; canBreak: boolean }) {
  const all = plan.intents.length;
  return (
    <section class="card" id="answer" hx-preserve="true" aria-labelledby="answer-title">
      <h2 id="answer-title">Your answer</h2>
      <Form id={FORM} class="act" method="post" action={`${pathOf(plan)}/approve`}>
        {/* A form whose first button is disabled is not sent by Enter: no key alone approves everything. */}
        <button type="submit" disabled hidden></button>
        <input type="hidden" name="digest" value={plan.digest} />
        <Said of={PLANS.approvePlan} label="Approve" reason="optional" />
        {canBreak ? <BreakGlass /> : null}
        <button
          type="submit"
          name="choice"
          value="all"
          class="main"
          data-confirm={`Approve all ${plural(all, 'action')}?`}
        >
          Approve {all === 1 ? 'it' : `all ${countText(all)}`}
        </button>
        {all === 1 ? null : (
          <>
            <button type="submit" name="choice" value="except">
              Approve all but the ticked
            </button>
            <button type="submit" name="choice" value="only">
              Approve only the ticked
            </button>
          </>
        )}
      </Form>
      {all === 1 ? null : (
        <p class="quiet">
          What is not approved waits on as a plan of its own.
          {paged ? ' This page shows a part of the plan: only its ticks count.' : ''}
        </p>
      )}
      <Act
        to={`${pathOf(plan)}/reject`}
        of={PLANS.rejectPlan}
        label="Reject"
        reason="required"
        tone="danger"
        fields={{ digest: plan.digest }}
      />
      <p class="quiet">
        Rejecting refuses all of it: each target is left alone until its rule stops matching and matches again.
      </p>
    </section>
  );
}

/** People are alerted of it at once, and the audit names who did it. */
function BreakGlass() {
  return (
    <label>
      <input type="checkbox" name="breakGlass" value="yes" /> Break glass: through the change window, with a reason
    </label>
  );
}

/** For the actions whose rules are exactly these. */
export function RuleButton({ rules, count }: { rules: readonly string[]; count: number }) {
  return (
    <button
      type="submit"
      form={FORM}
      name="choice"
      value={['rules', ...rules].join(' ')}
      data-confirm={`Approve ${plural(count, 'action')} of ${rules.join(', ')}?`}
    >
      Approve only the {plural(count, 'action')} of {rules.length === 1 ? 'this rule' : 'these rules'}
    </button>
  );
}

// The intents of a plan as a page shows them: by rules and action, a part of each.

const PAGE = 50;
/** Of all groups together: of each it shows an equal part, and at least some. */
const ROWS_MAX = 100;
const GROUP_ROWS_MIN = 5;

export interface PlanQuery {
  /** A part of a target, or of an id, name, serial number or owner of what it is about; in any case. */
  q?: string | undefined;
  /** One group alone, by its place. */
  group?: number | undefined;
  /** The place of its first intent that is shown. */
  from?: number | undefined;
  /** How many of them are compared with now. */
  rows?: number | undefined;
}

export interface PlanGroup {
  /** Its place among all groups of the plan: it stays the same with any query. */
  at: number;
  rules: string[];
  action: string;
  /** All of them, whatever is searched for. */
  total: number;
  /** How many the text names. */
  found: number;
  from: number;
  intents: PlannedIntent[];
}

/** All groups of the plan in its order, each with a page of its intents; with a text, those that it names. */
export function groupsOf({ intents }: Pick<Plan, 'intents'>, { q, group, from = 0 }: PlanQuery): PlanGroup[] {
  const part = nameKey(q ?? '');
  const groups = grouped(intents, (one) => [...rulesOf(one), one.action].join(' '));
  const equal = Math.max(GROUP_ROWS_MIN, Math.floor(ROWS_MAX / groups.length));
  const size = group === undefined ? Math.min(PAGE, equal) : PAGE;
  let left = ROWS_MAX;
  return groups.flatMap((all, at) => {
    if (group !== undefined && group !== at) return [];
    const [first] = all as [PlannedIntent];
    const found = part === '' ? all : all.filter((one) => isNamed(one, part));
    const begin = group === undefined ? 0 : from;
    const shown = found.slice(begin, begin + Math.min(size, left));
    left -= shown.length;
    const { action } = first;
    return [{ at, rules: rulesOf(first), action, total: all.length, found: found.length, from: begin, intents: shown }];
  });
}

export function rulesOf({ basis }: Pick<PlannedIntent, 'basis'>): string[] {
  return [...new Set(basis.map(({ rule }) => rule))].sort();
}

function isNamed({ target, basis, effect }: PlannedIntent, part: string): boolean {
  const devices = effect.devices.flatMap(({ id, name, serial, owners = [] }) => [id, name, serial ?? '', ...owners]);
  return [target, ...basis.map(({ subjectId }) => subjectId), ...devices].some((name) => nameKey(name).includes(part));
}

// What has changed about some targets of a plan since it was made.

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

// What came of a plan's targets, what was done to them before, and what would end a match.

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

// How far applying a plan is or came, and the button that begins or continues it.

interface ProgressProps {
  deps: HttpDeps;
  plan: Plan;
  mayApply: boolean;
  /** It may be let through the change window in force. */
  canBreak: boolean;
}

export async function Progress({ deps, plan, mayApply, canBreak }: ProgressProps) {
  const { status } = plan;
  if (status === 'pending' || status === 'rejected' || status === 'superseded' || status === 'expired') return null;
  const canApply = mayApply && (status === 'approved' || status === 'interrupted');
  const progress = status === 'approved' ? undefined : await deps.reader.planProgress(plan);
  return (
    <section class="card" aria-labelledby="progress-title">
      <h2 id="progress-title">{HEADS[status]}</h2>
      {progress === undefined ? <p>Nothing of it was begun yet.</p> : <Counts plan={plan} progress={progress} />}
      {status === 'interrupted' && progress ? (
        <p>
          <Words>{progressWords({ ...reportPlan(plan, [], plan.digest), progress }) ?? ''}</Words>
        </p>
      ) : null}
      {canApply ? (
        <>
          <Act
            to={`${pathOf(plan)}/apply`}
            of={PLANS.applyPlan}
            label={status === 'approved' ? 'Apply' : 'Continue'}
            tone="main"
            fields={{ digest: plan.digest }}
            confirm={`Apply this plan now (${plan.intents.length})?`}
            {...(canBreak && { reason: 'optional' as const })}
          >
            {canBreak ? <BreakGlass /> : null}
          </Act>
          <p class="quiet">Each target is read again before its call, and one that differs is left out.</p>
        </>
      ) : null}
    </section>
  );
}

const HEADS = {
  approved: 'Approved, not applied',
  applying: 'Applying',
  applied: 'Applied',
  interrupted: 'Interrupted',
} as const;

function Counts({
  plan: { status, intents },
  progress: { outcomes, notBegun },
}: {
  plan: Plan;
  progress: PlanProgress;
}) {
  if (status === 'applied') return <p class="lead">{appliedWords(outcomes, notBegun.length)}.</p>;
  const all = intents.length;
  const begun = all - notBegun.length;
  const named = Object.entries(outcomes).map(
    ([outcome, count]) => `${countText(count)} ${outcome === 'unknown' ? 'under way or in doubt' : outcome}`,
  );
  return (
    <>
      <p class="lead">
        {countText(begun)} of {countText(all)} begun
        {named.length === 0 ? '' : `: ${named.join(', ')}`}, {countText(notBegun.length)} not begun or refused.
      </p>
      <meter min="0" max={String(all)} value={String(begun)} aria-label="Actions begun">
        {begun} of {all}
      </meter>
    </>
  );
}
