// explain: whether a subject is banned or disabled now, and whether Trustward made it so. In: an identity, the platform, the stored
// intents. Out: one state for each action that takes access away. The platform does not record who banned: only Trustward's own
// actions are known here, and anything else was done by somebody else.
import type { Action } from '../domain/action.ts';
import { AppError } from '../domain/errors.ts';
import type { Identity } from '../domain/identity.ts';
import { isDone } from '../domain/intent.ts';
import type { RecordReader } from '../domain/record-reader.ts';
import { isOfLook } from '../domain/run.ts';
import type { DoneAction, TargetState } from '../domain/why.ts';
import type { ExplainDeps } from './judge-subject.ts';

export interface StateDeps extends Pick<ExplainDeps, 'api' | 'actions'> {
  reader: Pick<RecordReader, 'intents' | 'plan' | 'run'>;
}

export async function readStates(deps: StateDeps, subject: Identity): Promise<TargetState[]> {
  const states: TargetState[] = [];
  const target = subject.kind === 'device' ? subject.serial : subject.id;
  if (target === '') return states;
  for (const action of deps.actions.values()) {
    if (!takesAccess(action) || !action.subjects.includes(subject.kind)) continue;
    const isSo = await readState(deps, action, target);
    const last = await lastDone(deps, action, target);
    const isOwn = isSo !== undefined && last !== undefined && isSo === (last.intent.action === action.name);
    states.push({ action: action.name, text: action.stateText, target, isSo, last, isOwn });
  }
  return states;
}

export function takesAccess(action: Action): action is Action & { stateText: string } {
  return action.stateText !== undefined;
}

async function readState({ api }: StateDeps, action: Action, target: string): Promise<boolean | undefined> {
  try {
    const { state } = await action.readBack(api, target, {});
    return state === 'as_intended' ? true : state === 'otherwise' ? false : undefined;
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

/** `untilMs`: as it was then. */
export async function lastDone(
  { reader }: Pick<StateDeps, 'reader'>,
  action: Action,
  target: string,
  untilMs = Number.POSITIVE_INFINITY,
): Promise<DoneAction | undefined> {
  const intents = (await reader.intents({ target })).filter(({ settledAt }) => (settledAt ?? 0) <= untilMs);
  // Without an attempt it was found so: somebody else had done it.
  const done = intents.filter(
    (intent) =>
      isDone(intent) && intent.attempts > 0 && (intent.action === action.name || intent.action === action.inverse),
  );
  const last = done.sort((a, b) => (b.settledAt ?? 0) - (a.settledAt ?? 0))[0];
  if (!last) return undefined;
  const plan = last.approved && last.planId !== undefined ? await reader.plan(last.planId) : undefined;
  const run = await reader.run(last.runId);
  const isLook = run !== undefined && isOfLook(run);
  return {
    intent: last,
    runSeq: run?.seq,
    isOfLook: isLook,
    approvedBy: plan?.decidedBy,
    breakGlass: plan?.breakGlass,
  };
}
