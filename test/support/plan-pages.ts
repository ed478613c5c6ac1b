// support: pages over a plan in a real store, answered by the code that answers plans. In: what its intents differ in. Out: the pages.

import { planDigest } from '../../src/domain/digest.ts';
import type { Intent } from '../../src/domain/intent.ts';
import type { Plan, PlannedIntent } from '../../src/domain/plan.ts';
import type { Clock } from '../../src/domain/ports.ts';
import { sealedNote } from '../../src/engine/approve/plans.ts';
import { type AnsweredPart, answerPart, approvePart } from '../../src/engine/operate/plans.ts';
import { planShown } from '../../src/runtime/operations/reading.ts';
import type { Doubles, Over } from './endpoint.ts';
import { countingIds } from './engine-on-platform.ts';
import { addRun, decision, intent, plan as planOf, START_MS } from './filled-store.ts';
import { type OpenedPages, openPages } from './pages.ts';

export interface PlanPages extends OpenedPages {
  plan: Plan;
  stored(id?: string): Promise<Plan>;
}

/** Answers come at once: nobody is shown the plan before. */
const PATIENT: Clock = { nowMs: () => START_MS, monotonicMs: () => 0, sleep: () => new Promise(() => {}) };

/** One more planned ban, of its own episode. */
export function planned(at: number, over: Partial<PlannedIntent> = {}): PlannedIntent {
  const serial = `SERIAL-${at}`;
  const device = { id: `device-${at}`, name: `Laptop ${at}`, platform: 'macOS', model: 'Mac14,2', serial };
  const basis = {
    rule: 'ban-compromised-device',
    ruleHash: 'b'.repeat(64),
    subjectId: device.id,
    episodeId: `episode-${at}`,
    decisionId: `decision-${at}`,
    facts: { 'MdmData.CompromisedStatus': 'TRUE' },
  };
  return {
    key: String(at).padStart(64, '0'),
    action: 'ban_device',
    target: serial,
    settings: {},
    undo: false,
    basis: [basis],
    effect: {
      text: `ban serial number ${serial}: 1 device, ${device.id} (${device.name})`,
      devices: [{ ...device, owners: [`owner-${at % 9}@example.com`] }],
    },
    held: true,
    reason: 'approval_needed',
    reasonText: 'the rule has mode `approve`',
    ...over,
  };
}

interface Options {
  deps?: Over;
  over?: Partial<Plan>;
  apply?: Doubles['applyPlan'];
}

const notApplied = () => Promise.reject(new Error('nobody asked to apply it'));

export async function openPlan(
  intents: readonly PlannedIntent[],
  { deps = {}, over = {}, apply = notApplied }: Options = {},
): Promise<PlanPages> {
  const answering = (): Parameters<typeof approvePart>[0] => ({
    store: pages.store,
    clock: PATIENT,
    ids,
    settings: {},
    active: () => ({ rules: [] }),
  });
  const ids = countingIds();
  const shown = async (stored: Plan) => ({ ...(await planShown({ reader: pages.store }, stored)), applied: null });
  const shownPart = async ({ plan: answered, rest, missed }: AnsweredPart) => ({
    ...(await shown(answered)),
    rest: rest ? await planShown({ reader: pages.store }, rest) : null,
    missed,
  });
  const operations: Doubles = {
    approvePlan: async ({ id, reason, ...part }, { by }) => {
      const approved = await approvePart(answering(), id, part, { by, reason });
      return shownPart(approved);
    },
    rejectPlan: async ({ id, reason, digest }, { by }) => {
      const read = { rules: [], only: [], except: [], digest };
      return shownPart(await answerPart(answering(), id, 'reject', read, { by, reason }));
    },
    applyPlan: apply,
  };
  const pages: OpenedPages = openPages({ clock: PATIENT, operations, ...deps });
  const plan = planOf(decision(), { ...digested(intents), ...over });
  await addRun(pages.store, { mode: 'enforce', plan, intents: intents.map(dryIntent) });
  await pages.store.appendAudit([sealedNote(plan)]);
  return { ...pages, plan, stored: async (id = plan.id) => (await pages.store.plan(id)) as Plan };
}

/** An episode comes with an intent. */
function dryIntent({ action, target, basis }: PlannedIntent, at: number): Intent {
  return intent({ id: `dry-${at}`, action, target, basis, mode: 'dry-run', status: 'settled', outcome: 'dry_run' });
}

function digested(intents: readonly PlannedIntent[]): Pick<Plan, 'intents' | 'digest'> {
  return { intents: [...intents], digest: planDigest(intents) };
}
