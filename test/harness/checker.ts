// harness: the judge of every writing request at the moment when it reaches the platform, and of every outcome at its
// commit. In: requests, the ledger, the truth. Out: violations in words. It trusts nothing that the engine reports
// about itself.
import type { Intent, IntentBasis } from '../../src/domain/intent.ts';
import type { Mode } from '../../src/domain/rule.ts';
import type { Source } from '../../src/domain/subjects.ts';
import { CheckedAgain } from './check-again.ts';
import { Answers } from './check-answers.ts';
import { checkBeside, type Intrusion } from './check-beside.ts';
import { checkFreeze } from './check-freeze.ts';
import { checkGate } from './check-gate.ts';
import { checkGuards } from './check-guards.ts';
import { LookRules } from './check-look.ts';
import { checkModes } from './check-modes.ts';
import { checkNotice, type SimPost } from './check-notice.ts';
import { checkSteering } from './check-operator.ts';
import { checkOutcome } from './check-outcome.ts';
import { checkRefused } from './check-refused.ts';
import { checkRelease } from './check-release.ts';
import { Reversed } from './check-reversed.ts';
import { Rollouts } from './check-rollout.ts';
import { checkBreaker, checkTogether } from './check-together.ts';
import { checkTrust, type ListSeen } from './check-trust.ts';
import { checkUndo, Looks } from './check-undo.ts';
import type { WorldEvent } from './event-log.ts';
import type { IntentLife, Ledger } from './ledger.ts';
import type { PlatformRequest, Witness } from './platform.ts';
import { type ListFate, LOOK_MS, type Profile, QUIET_MS, SLOW_QUIET_MS } from './profile.ts';
import { ERRORS_MIN } from './rules.ts';
import type { SimClock } from './sim-clock.ts';
import { ACTION_OF, INVERSE_OF, type Truth } from './truth.ts';
import type { World } from './world.ts';

export type ViolationKind =
  | 'unaudited'
  | 'doubled'
  | 'lost'
  | 'unresolved'
  | 'acted_on_unknown'
  | 'acted_needlessly'
  | 'retried_early'
  | 'against_a_person'
  | 'against_a_claim'
  | 'beyond_ceiling'
  | 'beyond_breaker'
  | 'at_once'
  | 'beyond_mode'
  | 'beyond_plan'
  | 'beyond_look'
  | 'beyond_check'
  | 'unapproved'
  | 'while_stopped'
  | 'in_freeze'
  | 'outside_share'
  | 'unasked'
  | 'false_brake'
  | 'before_deadline'
  | 'told_twice'
  | 'exempt'
  | 'on_untrusted'
  | 'on_edited'
  | 'on_replaced'
  | 'false_outcome'
  | 'broken_chain'
  | 'broke';

export interface Violation {
  kind: ViolationKind;
  atMs: number;
  text: string;
}

/** What the engine is doing now, as its caller knows it. */
export interface Operation {
  name: 'run' | 'look' | 'check' | 'apply' | 'release';
  mode: Mode;
  startMs: number;
  daemonMode: Mode;
  /** Modes of the rules when it began. */
  rules: ReadonlyMap<string, Mode>;
  /** A rule's mode by now: preflight reads it again before a call. */
  modeNow(rule: string): Mode;
  /** Rules changed by now and true time of the last change; their content hashes. */
  rulesNow(): { changedAtMs: number; hashOf(rule: string): string | undefined };
  /** What the last reading of each source was like. */
  lists: Map<string, ListSeen>;
  /** Requests so far, by action. */
  requests: Map<string, number>;
  /** Those that were not answered as done. */
  failures: number;
}

/** At most this long from preflight to the call: a change in between is invisible to preflight. */
export const BETWEEN_MS = 1_000;
const DAY_MS = 86_400_000;

export class Checker implements Witness {
  readonly violations: Violation[] = [];
  readonly approvedPlans = new Set<string>();
  operation: Operation | undefined;
  /** What somebody did to the database beside the engine, until it is over. */
  intrusion: Intrusion | undefined;
  retries = 0;
  /** Of a life in which rules warn people. */
  post: SimPost | undefined;
  /** Undos that were sent in a change window. */
  undoneInFreeze = 0;
  readonly requests: PlatformRequest[] = [];
  readonly looks = new Looks(this);
  readonly answers = new Answers(this);
  readonly lookRules = new LookRules(this);
  readonly rollouts = new Rollouts(this);
  readonly again = new CheckedAgain(this);
  private readonly reversed = new Reversed(this);
  /** Requests by run and action. */
  private readonly runs = new Map<string, Map<string, number>>();

  constructor(
    readonly ledger: Ledger,
    readonly truth: Truth,
    readonly world: World,
    readonly clock: SimClock,
    readonly profile: Profile,
  ) {}

  report(kind: ViolationKind, text: string): void {
    this.violations.push({ kind, atMs: this.clock.trueMs, text });
  }

  onList(source: Source, fate: ListFate, count: number): void {
    const before = this.ledger.baselineCount(source);
    const isShort = before !== undefined && count < before * 0.79;
    const seen = { fate, isShort, isAccepted: this.ledger.accepted.has(source) };
    this.operation?.lists.set(source, seen);
    this.lookRules.onList(source, seen);
  }

  onEvents(events: readonly WorldEvent[]): void {
    this.lookRules.onEvents(events);
  }

  onRequest(request: PlatformRequest): void {
    this.requests.push(request);
    this.ledger.follow();
    const action = ACTION_OF[request.verb];
    const intent = this.ledger.underWay(action, request.target);
    const life = intent && this.ledger.intents.get(intent.id);
    if (!intent || !life || life.sent.length <= life.requests.length) {
      this.report(
        'unaudited',
        `request ${request.number} (${action} ${request.target}) has no committed entry before it`,
      );
      return;
    }
    const before = [...life.requests];
    life.requests.push(request);
    checkBeside(this, request, life);
    this.checkOnce(request, intent, life, before);
    checkModes(this, request, intent, life);
    this.checkCeilings(request, action, life);
    checkTogether(this, request, intent);
    checkBreaker(this, request);
    this.lookRules.onRequest(request, intent, life);
    checkTrust(this, request, intent, life);
    checkSteering(this, request, intent, life);
    checkFreeze(this, request, intent);
    this.rollouts.onRequest(request, intent);
    checkNotice(this, request, intent);
    checkGuards(this, request, intent);
    this.again.onRequest(request, intent);
    // A released target is undone while its rule still matches.
    if (!intent.released) this.checkGrounds(request, intent);
    const canBeRead = this.canBeReadBack(action);
    if (canBeRead && this.truth.wasSoThroughout(request.verb, request.target, request.atMs - LOOK_MS, request.atMs)) {
      this.report('acted_needlessly', `${action} ${request.target}: it was so already`);
    }
    checkRefused(this, request, life, before);
    if (intent.released) checkRelease(this, intent);
    else if (intent.undo) checkUndo(this, request, intent);
    else this.reversed.onRequest(request, intent);
  }

  /** Older servers do not list the services of a bundle. */
  canBeReadBack(action: string): boolean {
    return this.profile.listsBundles || !action.endsWith('_bundle');
  }

  /** What was settled by the last commit. */
  onCommit(): void {
    for (const life of this.ledger.follow()) checkOutcome(this, life);
    this.answers.check();
    checkGate(this);
    this.lookRules.onCommit();
    this.reversed.onCommit();
    this.rollouts.onCommit();
    this.post?.onCommit();
  }

  /** One possibly effective request for an intent, and one more after a doubt; none for an episode that had its own. */
  private checkOnce(request: PlatformRequest, intent: Intent, life: IntentLife, before: PlatformRequest[]): void {
    const possible = before.filter(({ answer }) => answer !== 'failed');
    const { id, action, target } = intent;
    if (possible.length > 1 + life.allowed.length)
      this.report('doubled', `intent ${id} (${action} ${target}) is sent a third time`);
    const last = possible.at(-1);
    if (last) this.checkRetry(request, intent, life, last);
    const attempts = before.filter(({ fate }) => fate !== 'unauthorized').length;
    if (attempts >= 4 + life.allowed.length)
      this.report('doubled', `intent ${id} was refused ${attempts} times and goes on`);
    const grounds = intent.basis.filter((basis) => !this.hadItsRequest(request, intent, basis));
    if (grounds.length === 0) {
      const operator = this.personUndid(request);
      this.report(
        operator ? 'against_a_person' : 'doubled',
        `${intent.action} ${intent.target}: its trouble has lasted since an earlier intent's request${operator ? ', and a person reversed that' : ''}`,
      );
    }
  }

  private checkRetry(request: PlatformRequest, intent: Intent, life: IntentLife, last: PlatformRequest): void {
    this.retries += 1;
    const { id, action, target } = intent;
    if (!life.allowed.some((atMs) => atMs >= last.atMs)) {
      if (!life.settled.some(({ outcome }) => outcome === 'unknown'))
        this.report('doubled', `intent ${id} is sent again without a doubt on record`);
      if (!this.canBeReadBack(action))
        this.report(
          'doubled',
          `intent ${id} (${action} ${target}) is sent again, though nothing tells whether it was done`,
        );
      if (intent.doubtRetries !== 1) this.report('doubled', `intent ${id}: ${intent.doubtRetries} retries on record`);
    }
    const sinceMs = request.atMs - last.atMs;
    // An operator who releases it again wants it sent now.
    if (!intent.released && sinceMs < (last.fate === 'slow' ? SLOW_QUIET_MS : QUIET_MS))
      this.report('retried_early', `intent ${id} is sent again ${sinceMs} ms after a doubt`);
  }

  /** Whether another intent already made a request on this ground, and the ground has not gone since. */
  private hadItsRequest(request: PlatformRequest, intent: Intent, basis: IntentBasis): boolean {
    // A held intent of a window rule outlives its match: a person approved each of them.
    if (intent.approved && basis.rule in ERRORS_MIN) return false;
    const over = intent.undo ? 'match' : 'no_match';
    for (const other of this.ledger.intents.values()) {
      if (other.id === intent.id || other.action !== intent.action || other.target !== intent.target) continue;
      // An approved action of a window was done after its match, so nothing of it is left for the next.
      if (basis.rule in ERRORS_MIN && this.ledger.intent(other.id)?.approved) continue;
      const earlier = other.requests.find(({ answer }) => answer !== 'failed');
      if (!earlier || this.wasTurnedBack(request, earlier.atMs)) continue;
      const shared = this.ledger
        .intent(other.id)
        ?.basis.some(({ rule, subjectId }) => rule === basis.rule && subjectId === basis.subjectId);
      if (shared && !this.truth.couldSee(over, basis.rule, basis.subjectId, earlier.atMs - LOOK_MS, request.atMs))
        return true;
    }
    return false;
  }

  /**
   * Whether the engine itself reversed it since, or deleted the target, for a reason judged separately: then it may be
   * repeated once.
   */
  private wasTurnedBack({ verb, target }: PlatformRequest, sinceMs: number): boolean {
    const done = ACTION_OF[INVERSE_OF[verb]] as string;
    const lives = [...this.ledger.intents.values()].filter(
      ({ id, action, target: own }) =>
        own === target && (action === done || action.startsWith('delete_')) && !this.ledger.intent(id)?.released,
    );
    return lives.some(({ requests }) => requests.some(({ atMs, answer }) => atMs > sinceMs && answer !== 'failed'));
  }

  private personUndid(request: PlatformRequest): boolean {
    const reversal = INVERSE_OF[request.verb];
    return this.world.effects.some(
      ({ verb, target, request: by, changed }) =>
        verb === reversal && target === request.target && by === undefined && changed,
    );
  }

  private checkCeilings({ wallMs, fate }: PlatformRequest, action: string, { run }: IntentLife): void {
    const { operation, profile } = this;
    if (!operation) return;
    // A release has a count of its own; a plan that is applied later continues the count of its run, and a look that of the last whole run.
    const counts = operation.name === 'release' ? operation.requests : this.requestsOf(run);
    const count = (counts.get(action) ?? 0) + 1;
    // What the server refused before doing anything is no attempt.
    if (fate !== 'unauthorized') counts.set(action, count);
    if (count > profile.runCeiling)
      this.report('beyond_ceiling', `${count} × ${action} in one run (${profile.runCeiling})`);
    let lastDay = 0;
    for (const life of this.ledger.intents.values()) {
      const isAttempt = (item: PlatformRequest) => item.fate !== 'unauthorized' && item.wallMs >= wallMs - DAY_MS;
      if (life.action === action) lastDay += life.requests.filter(isAttempt).length;
    }
    if (lastDay > profile.dayCeiling)
      this.report('beyond_ceiling', `${lastDay} × ${action} in a day (${profile.dayCeiling})`);
  }

  private requestsOf(run: string): Map<string, number> {
    const counted = this.ledger.countedRun(run);
    const counts = this.runs.get(counted) ?? new Map<string, number>();
    this.runs.set(counted, counts);
    return counts;
  }

  private checkGrounds({ atMs }: PlatformRequest, intent: Intent): void {
    const wanted = intent.undo ? 'no_match' : 'match';
    const seen = intent.basis.filter(({ rule, subjectId }) =>
      this.truth.couldSee(wanted, rule, subjectId, this.lookFrom(intent, atMs), atMs),
    );
    if (intent.undo ? seen.length === intent.basis.length : seen.length > 0) return;
    const named = intent.basis.map(({ rule, subjectId }) => `${rule} of ${subjectId}`).join(', ');
    this.report('acted_on_unknown', `${intent.action} ${intent.target}: no look could find ${wanted} for ${named}`);
  }

  /** Windows were filled when the run began; records are read again right before. An approved window rule may outlive its match. */
  private lookFrom(intent: Intent, atMs: number): number {
    if (!intent.basis.some(({ rule }) => rule in ERRORS_MIN)) return atMs - LOOK_MS;
    const isApproved = intent.approved || this.operation?.name === 'apply';
    return Math.min(isApproved ? 0 : atMs, (this.operation?.startMs ?? atMs) - LOOK_MS);
  }
}
