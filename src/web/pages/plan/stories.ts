// web: what came of a plan's targets, what was done to them before, and what would end a match. In: some planned intents. Out: by key,
// the outcome, an earlier action, a flip. It reads the newest intents on each target, whatever their number.
import { entryBody } from '../../../domain/audit-entry.ts';
import { type Intent, isDone } from '../../../domain/intent.ts';
import type { Plan, PlannedIntent } from '../../../domain/plan.ts';
import type { Flip } from '../../../domain/verdict.ts';
import type { HttpDeps } from '../../../http/deps.ts';

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
