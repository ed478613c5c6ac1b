// domain: a rule that begins to act on a share of its subjects, and on more of them step by step. In: a rule's `rollout`, its state, a time.
// Out: who is among them, the step, and why it has stopped. Pure. INVARIANT: who is among a share is among every larger one.
import { elapsedMs, type SteadyReading, timeText } from '../base/time.ts';

/** Shares are in hundredths of a percent: 10,000 are all. */
export const ALL = 10_000;

export interface Rollout {
  /** Ascending shares; the last one is `ALL`. */
  steps: readonly number[];
  /** How long each step lasts, in time in which the rule was judged and could act. */
  eachMs: number;
  /** At so many it stops. */
  brake: { reversed: number; exempted: number };
  /** Of what the rule matches and does: another one begins anew. */
  meaning: string;
}

export const BRAKE_DEFAULT = { reversed: 2, exempted: 3 } as const;

/** As of the last run that may act. Only a run over whole lists, of trusted readings, begins it and moves it. */
export interface RolloutState {
  rule: string;
  meaning: string;
  /** From 0. */
  step: number;
  /** Of this step, up to `countedAt`. */
  passedMs: number;
  /** When its time was last counted, epoch ms; undefined while it stands still. */
  countedAt: number | undefined;
  beganAt: number;
  /** What people did since then counts for the brake: the beginning, or the last time that a person went on. */
  since: number;
  /** Episodes that people reversed, and those acted on that they exempted since. */
  reversed: readonly string[];
  exempted: readonly string[];
  braked?: { at: number; why: string } | undefined;
  /** The undo of what it did was planned, when it was braked. */
  isPlanned?: boolean | undefined;
}

/** A rule, as far as it is concerned. */
interface Rolling {
  id: string;
  rollout?: Rollout | undefined;
}

/** Undefined: it has not begun, or the rule means something else by now. */
export function stateOfRollout(
  { id, rollout }: Rolling,
  states: readonly RolloutState[] = [],
): RolloutState | undefined {
  return states.find(({ rule, meaning }) => rule === id && meaning === rollout?.meaning);
}

/** The step that counts: a rule may have fewer now. */
export function stepOf({ steps }: Rollout, state: RolloutState | undefined): number {
  return Math.min(state?.step ?? 0, steps.length - 1);
}

export function beginning(rule: string, { meaning }: Rollout, nowMs: number): RolloutState {
  const none = { step: 0, passedMs: 0, reversed: [], exempted: [] };
  return { rule, meaning, ...none, countedAt: nowMs, beganAt: nowMs, since: nowMs };
}

/** Between two runs that may act; after more, a run only begins to count. */
const BETWEEN_MAX_MS = 86_400_000;

/** A run that may act by this rule: time has passed, and at most one step is over. The last one never is, so nothing is counted in it. */
export function passed(rollout: Rollout, before: RolloutState, steady: SteadyReading): RolloutState {
  if (before.braked) return paused(before);
  const step = stepOf(rollout, before);
  if (step === rollout.steps.length - 1) return paused(step === before.step ? before : { ...before, step });
  const ms = before.countedAt === undefined ? 0 : Math.max(0, elapsedMs(steady, before.countedAt));
  const passedMs = before.passedMs + (ms > BETWEEN_MAX_MS ? 0 : ms);
  const counted = { ...before, step, countedAt: steady.nowMs };
  return passedMs < rollout.eachMs ? { ...counted, passedMs } : { ...counted, step: step + 1, passedMs: 0 };
}

/** Nothing could be done by it: its time stands still. */
export function paused(before: RolloutState): RolloutState {
  return before.countedAt === undefined ? before : { ...before, countedAt: undefined };
}

/** For people, and for the audit. Undefined: neither number is reached. */
export function whyBraked(
  { brake }: Rollout,
  { reversed, exempted }: Pick<RolloutState, 'reversed' | 'exempted'>,
): string | undefined {
  const why = [
    ...(reversed.length >= brake.reversed ? [`people reversed ${reversed.length} of what it did`] : []),
    ...(exempted.length >= brake.exempted ? [`people exempted ${exempted.length} of those it acted on`] : []),
  ];
  return why.length === 0 ? undefined : why.join(' and ');
}

/** What checks read about one subject of a rule with a rollout. */
export interface RolloutFacts {
  isAmong: boolean;
  /** `step 1 of 3 (1 %), until 2026-11-28 10:00:00 UTC at the earliest`. */
  stepText: string;
  /** `stopped at …: people reversed 2 of what it did`. */
  braked?: string | undefined;
}

/** `place`: of the subject (`placeAmong`). Undefined for a rule without a rollout. */
export function rolloutFacts(
  { rollout }: Rolling,
  state: RolloutState | undefined,
  place: number,
): RolloutFacts | undefined {
  if (!rollout) return undefined;
  const share = rollout.steps[stepOf(rollout, state)] as number;
  return { isAmong: place < share, stepText: stepText(rollout, state), braked: brakedText(state) };
}

export function brakedText(state: RolloutState | undefined): string | undefined {
  return state?.braked && `stopped at ${timeText(state.braked.at)}: ${state.braked.why}`;
}

export function stepText(rollout: Rollout, state: RolloutState | undefined): string {
  const step = stepOf(rollout, state);
  const text = `step ${step + 1} of ${rollout.steps.length} (${shareText(rollout.steps[step] as number)})`;
  if (state?.countedAt === undefined || state.braked || step === rollout.steps.length - 1) return text;
  const untilMs = state.countedAt + rollout.eachMs - state.passedMs;
  return `${text}, until ${timeText(untilMs)} at the earliest`;
}

/** The part of a text that names the step, without a time that may move. */
export function stepOfText(text: string): string {
  return text.split(',', 1)[0] as string;
}

/** `12.5 %`. */
export function shareText(share: number): string {
  return `${share / 100} %`;
}
