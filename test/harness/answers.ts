// harness: answers to plans: a person approves, rejects, approves a part, applies what was approved before, or has a plan made that
// releases a rule. In: a living engine. Out: the answer, announced to the checker before it is given. It may end at any await.
import { AppError } from '../../src/domain/errors.ts';
import type { Plan, PlannedIntent, PlanSelection } from '../../src/domain/plan.ts';
import { answerPlan, answerPart as answerRead, applyPlan, approvePart } from '../../src/engine/operate/plans.ts';
import { planRelease } from '../../src/engine/operate/release.ts';
import type { Engine } from '../../src/engine/run/engine.ts';
import { type Asking, begin } from './asking.ts';
import type { Dice } from './dice.ts';
import { PERSON } from './people.ts';

/** A person answers the newest plan that waits, or continues an interrupted one; an approved one is applied at once, as the daemon does. */
export async function answer(asking: Asking, engine: Engine, word: 'approve' | 'reject'): Promise<void> {
  const plan = (await readPlan(asking, engine)) ?? (await newestPlan(engine, ['approved', 'interrupted']));
  if (!plan || engine.daemonMode !== 'enforce') return;
  if (plan.status !== 'pending') {
    if (word === 'approve') await apply(asking, engine, plan.id);
    return;
  }
  const same = asking.checker.answers.say(plan.id, plan.intents);
  const read = { rules: [], only: [], except: [], digest: plan.digest };
  const part = await answerRead(engine, plan.id, word, read, { by: 'a person' }).catch(unlessAllChanged(same));
  if (part && word === 'approve') await apply(asking, engine, part.plan.id);
}

/** The newest plan that waits; every other time as it was when they began to read it, before the last runs. */
async function readPlan({ checker: { answers } }: Asking, engine: Engine): Promise<Plan | undefined> {
  const now = await newestPlan(engine, ['pending']);
  const earlier = answers.reading;
  answers.reading = earlier ? undefined : now;
  const isSame = earlier !== undefined && (await engine.store.plan(earlier.id))?.status === 'pending';
  return isSame ? earlier : now;
}

/** Nothing is answered where nothing is as it was read. */
function unlessAllChanged(same: number): (error: unknown) => undefined {
  return (error) => {
    if (same === 0 && error instanceof AppError && error.code === 'conflict') return undefined;
    throw error;
  };
}

async function newestPlan(engine: Engine, statuses: readonly Plan['status'][]): Promise<Plan | undefined> {
  for (const status of statuses) {
    const [plan] = await engine.store.plans({ status }, 1);
    if (plan) return plan;
  }
  return undefined;
}

async function apply(asking: Asking, engine: Engine, plan: string): Promise<void> {
  begin(asking, engine, 'apply', 'enforce');
  await applyPlan(engine, plan, { by: 'a person' });
}

/** They approve a part of a plan, and apply it at once or leave it for later. */
export async function answerPart(asking: Asking, engine: Engine): Promise<void> {
  const { dice, checker } = asking;
  const plan = await readPlan(asking, engine);
  if (!plan || engine.daemonMode !== 'enforce') return;
  const selection = { ...drawSelection(plan, dice), digest: plan.digest };
  const chosen = plan.intents.filter((intent) => isChosen(intent, selection));
  if (chosen.length === 0) return;
  const same = checker.answers.say(plan.id, chosen);
  const part = await approvePart(engine, plan.id, selection, { by: 'a person' })
    .catch(unlessOwnersUnknown)
    .catch(unlessAllChanged(same));
  if (part && dice.chance(0.6)) await apply(asking, engine, part.plan.id);
}

/** An address leaves out nothing while somebody's devices are not known. */
function unlessOwnersUnknown(error: unknown): undefined {
  if (!(error instanceof AppError) || !error.message.startsWith('except: the owners of')) throw error;
}

function drawSelection({ intents }: Plan, dice: Dice): PlanSelection {
  const some = (texts: readonly string[]) => [...new Set(texts)].filter(() => dice.chance(0.5));
  const inAnyCase = (text: string) => (dice.chance(0.5) ? text.toLowerCase() : text.toUpperCase());
  const targets = intents.map(({ target }) => target);
  const subjects = intents.flatMap(({ basis }) => basis.map(({ subjectId }) => subjectId));
  const names = some(dice.chance(0.5) ? targets : subjects).map(inAnyCase);
  const rules = dice.chance(0.4) ? some(intents.flatMap(({ basis }) => basis.map(({ rule }) => rule))) : [];
  return dice.chance(0.5) ? { rules, only: names, except: [] } : { rules, only: [], except: names };
}

/** As a person means it, whatever the engine makes of it: an e-mail address is of a user, and of the devices of that owner. */
function isChosen({ target, basis, effect }: PlannedIntent, { rules, only, except }: PlanSelection): boolean {
  const owners = effect.devices.flatMap((device) => device.owners ?? []);
  const own = [target, ...basis.map(({ subjectId }) => subjectId), ...owners].map((text) => text.toUpperCase());
  const isNamed = (texts: readonly string[]) => texts.some((text) => own.includes(text.toUpperCase()));
  if (rules.length > 0 && basis.some(({ rule }) => !rules.includes(rule))) return false;
  return (only.length === 0 || isNamed(only)) && !isNamed(except);
}

/** What was approved and not applied is in no new plan: people come back to it. One that is refused does not keep the others. */
export async function continueApproved(asking: Asking, engine: Engine): Promise<void> {
  if (engine.daemonMode !== 'enforce') return;
  for (const status of ['approved', 'interrupted'] as const) {
    for (const { id } of await engine.store.plans({ status }, 20)) {
      await apply(asking, engine, id).catch((error) => {
        if (!(error instanceof AppError && error.code === 'conflict')) throw error;
      });
    }
  }
}

/** They have all of a rule undone; or they have the plan made, and answer it another time. */
export async function releaseRule(asking: Asking, engine: Engine): Promise<void> {
  const { dice, checker } = asking;
  const claims = await engine.store.claims({ status: 'standing' });
  if (claims.length === 0 || engine.daemonMode !== 'enforce') return;
  const { plan } = await planRelease(engine, dice.pick(claims).rule, { by: 'a person', reason: PERSON.reason });
  if (dice.chance(0.4)) return;
  checker.answers.say(plan.id, plan.intents);
  await answerPlan(engine, plan.id, 'approve', { by: 'a person' });
  await apply(asking, engine, plan.id);
}
