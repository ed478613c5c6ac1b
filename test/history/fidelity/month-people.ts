// fidelity: what people do in a month: they exempt, stop, answer plans, release, resolve doubts, accept a reading. In: the engine that lives. Out:
// one command, committed or refused.
import { AppError } from '../../../src/domain/errors.ts';
import type { Facts } from '../../../src/domain/facts.ts';
import {
  acceptSnapshot,
  addExemption,
  endExemption,
  resumeEverything,
  stopEverything,
} from '../../../src/engine/operate/commands.ts';
import { answerPlan, applyPlan, approvePart } from '../../../src/engine/operate/plans.ts';
import { releaseClaims } from '../../../src/engine/operate/release.ts';
import { resolveIntent } from '../../../src/engine/operate/resolve-intent.ts';
import type { Engine } from '../../../src/engine/run/engine.ts';
import type { Dice } from '../../harness/dice.ts';
import type { MonthWorld } from './month-world.ts';

const PERSON = { by: 'a person', reason: 'somebody knows why' };
/** What a person may be answered. */
const REFUSED: ReadonlySet<string> = new Set(['conflict', 'not_found', 'usage', 'api_unreachable', 'api_answer']);

export async function personActs(engine: Engine, world: MonthWorld, dice: Dice): Promise<void> {
  const what = dice.weighted({
    answer: 30,
    exempt: 12,
    end: 6,
    stop: 3,
    resume: 12,
    release: 6,
    resolve: 8,
    accept: 10,
  });
  try {
    await COMMANDS[what](engine, world, dice);
  } catch (error) {
    if (!(error instanceof AppError && REFUSED.has(error.code))) throw error;
  }
}

type Command = (engine: Engine, world: MonthWorld, dice: Dice) => Promise<unknown>;

const COMMANDS = {
  answer,
  exempt: (engine, world, dice) => {
    const until = dice.pick(['6h', '2d', '9d', '40d']);
    const about = anybody(world, dice);
    return addExemption(engine, { ...about, unseen: true, owner: 'somebody', reason: 'known', until }, PERSON.by);
  },
  end: async (engine) => {
    const [first] = await engine.store.exemptions(engine.clock.nowMs());
    if (first) await endExemption(engine, first.id, PERSON);
  },
  stop: (engine) => stopEverything(engine, PERSON),
  resume: (engine) => resumeEverything(engine, PERSON),
  release: async (engine, _, dice) => {
    const claims = await engine.store.claims({ status: 'standing' });
    if (claims.length > 0) await releaseClaims(engine, dice.pick(claims), PERSON);
  },
  resolve: async (engine, _, dice) => {
    const open = [...(await engine.store.intents({ outcome: 'unknown' })), ...(await engine.store.openFailures())];
    const as = dice.pick(['retry', 'not-done', 'done'] as const);
    if (open.length > 0) await resolveIntent(engine, dice.pick(open).id, as, PERSON);
  },
  accept: (engine, _, dice) =>
    acceptSnapshot(engine, dice.pick(['devices', 'users', 'services', 'inventory', 'people']), PERSON),
} satisfies { [command: string]: Command };

async function answer(engine: Engine, _: MonthWorld, dice: Dice): Promise<void> {
  const [approved] = await engine.store.plans({ status: 'approved' }, 1);
  const [plan] = approved ? [approved] : await engine.store.plans({ status: 'pending' }, 1);
  if (!plan) return;
  const word = dice.weighted({ approve: 5, part: 3, reject: 2 });
  if (plan.status === 'pending' && word === 'part') {
    const rules = [...new Set(plan.intents.flatMap(({ basis }) => basis.map(({ rule }) => rule)))];
    const part = { rules: [dice.pick(rules)], only: [], except: [] };
    await approvePart(engine, plan.id, part, { by: PERSON.by });
    return;
  }
  if (plan.status === 'pending')
    await answerPlan(engine, plan.id, word === 'reject' ? 'reject' : 'approve', { by: PERSON.by });
  if (word !== 'reject' && dice.chance(0.8)) await applyPlan(engine, plan.id, { by: PERSON.by });
}

function anybody(world: MonthWorld, dice: Dice) {
  const kind = dice.pick(['device', 'serial', 'platform', 'user', 'group', 'service']);
  const one = (list: ReadonlyMap<string, Facts>) => dice.pick([...list.values()]);
  switch (kind) {
    case 'serial':
      return { selector: { field: 'SerialNumber', value: String(one(world.devices).SerialNumber) } };
    case 'platform':
      return { selector: { field: 'Platform', value: 'iOS' }, acceptForgeable: true };
    case 'group':
      return { selector: { field: 'Groups', value: 'board' } };
    case 'user':
      return { subject: { kind, id: String(one(world.users).Email) } };
    case 'service':
      return { subject: { kind, id: String(one(world.services).ServiceID) } };
    default:
      return { subject: { kind: 'device', id: String(one(world.devices).DeviceID) } };
  }
}
