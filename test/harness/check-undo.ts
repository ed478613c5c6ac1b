// harness: judges an undo: it reverses what Trustward did, not what a person did, and nothing that a rule still claims.
// In: a writing request that undoes. Out: violations. Beside it: what whole runs have read, since they must have seen
// what was visible.
import type { Intent } from '../../src/domain/intent.ts';
import { isBelieved } from './check-trust.ts';
import type { Checker } from './checker.ts';
import type { PlatformRequest } from './platform.ts';
import { LATE_MAX_MS, LOOK_MS, QUIET_MS, STALE_MAX_MS } from './profile.ts';
import { ACTION_OF, INVERSE_OF } from './truth.ts';
import type { Effect } from './world.ts';

/** A person's change this close to an attempt cannot be distinguished from it. */
const BESIDE_MS = 60_000;

export function checkUndo(checker: Checker, { verb, target, atMs }: PlatformRequest, intent: Intent): void {
  const { ledger, truth, world, operation } = checker;
  const undone = INVERSE_OF[verb];
  const last = world.effects.findLast((effect) => effect.target === target && effect.verb === undone && effect.changed);
  // Where a server does not list its bundles, nobody can see whose a membership is.
  const canBeSeen = checker.canBeReadBack(intent.action);
  if (
    canBeSeen &&
    last &&
    last.request === undefined &&
    !isBesideAttempt(checker, last, target) &&
    !wasSaidOurs(checker, last, target) &&
    !wasAsked(checker, intent)
  ) {
    checker.report('against_a_person', `${intent.action} ${target}: a person made it so`);
  }
  for (const claim of ledger.openClaims(target)) {
    if (claim.action !== ACTION_OF[undone] || (operation?.rules.get(claim.rule) ?? 'off') === 'off') continue;
    if (truth.alwaysSaw('match', claim.rule, claim.subjectId, atMs - LOOK_MS, atMs))
      checker.report('against_a_claim', `${intent.action} ${target}: rule ${claim.rule} still claims it`);
  }
}

/** Whether a person approved it who was told that it may be a person's. */
function wasAsked({ ledger }: Checker, { id, approved, planId, action, target }: Intent): boolean {
  const plan = ledger.plan(ledger.letBy.get(id) ?? planId ?? '');
  const asked = plan?.intents.find((one) => one.action === action && one.target === target);
  return approved && asked?.held === true && /a person may have reversed it and done it again/.test(asked.reasonText);
}

/** Whether an operator said of a doubt, after a person had done it, that Trustward had. */
function wasSaidOurs({ ledger }: Checker, { atMs, verb }: Effect, target: string): boolean {
  return [...ledger.intents.values()].some(
    ({ action, target: own, saidDoneMs = 0 }) => own === target && action === ACTION_OF[verb] && saidDoneMs > atMs,
  );
}

/**
 * Whether a person's change fell into an attempt on the target or its doubt, or was never visible between two reads.
 */
function isBesideAttempt({ ledger, world, looks }: Checker, { atMs, verb }: Effect, target: string): boolean {
  const isBefore = (effect: Effect) => effect.target === target && effect.atMs < atMs && effect.changed;
  const before = world.effects.findLast((one) => isBefore(one) && [verb, INVERSE_OF[verb]].includes(one.verb));
  if (before && before.verb !== verb && !looks.between(before.atMs, atMs)) return true;
  return [...ledger.intents.values()].some((life) => {
    if (life.target !== target || life.sent.length === 0) return false;
    const from = (life.sent[0] as number) - BESIDE_MS;
    const last = life.settled.at(-1);
    const sure = last?.outcome === 'unknown' ? undefined : last;
    return atMs >= from && atMs <= (sure?.atMs ?? Number.POSITIVE_INFINITY) + STALE_MAX_MS + LATE_MAX_MS;
  });
}

/** Whole runs on trusted readings, by true time. */
export class Looks {
  private readonly all: { fromMs: number; toMs: number }[] = [];
  /** Whole runs of every kind: each compared the clocks, and kept the result. */
  private readonly whole: { fromMs: number; toMs: number }[] = [];

  constructor(private readonly checker: Checker) {}

  /** A whole run has ended that began then. */
  add(fromMs: number): void {
    const { operation, clock, ledger } = this.checker;
    // A dry run leaves claims unchanged, whatever it reads.
    const isLive = operation?.mode !== 'dry-run' && operation?.daemonMode !== 'dry-run';
    const isGood = [...(operation?.lists.values() ?? [])].every((list) => isBelieved({ ...list, isAccepted: false }));
    // After a jump, a quiet period from when it was noticed, nothing that was done is known to be old.
    const jumpedMs = clock.jumps.at(-1);
    const isNoticed =
      jumpedMs === undefined || this.whole.some((run) => run.fromMs >= jumpedMs && run.toMs <= fromMs - QUIET_MS);
    const isSteady = clock.offsetMs === 0 && isNoticed;
    this.whole.push({ fromMs, toMs: clock.trueMs });
    if (isLive && isGood && isSteady && ledger.stoppedAtMs === undefined) this.all.push({ fromMs, toMs: clock.trueMs });
  }

  between(fromMs: number, toMs: number): boolean {
    return this.all.some((look) => look.fromMs > fromMs + QUIET_MS + STALE_MAX_MS && look.toMs < toMs);
  }
}
