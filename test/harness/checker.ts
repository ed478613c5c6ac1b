// harness: the judge of every writing request at the moment at which it reaches the platform, and of every outcome at its
// commit. In: requests, the ledger, the truth. Out: violations in words. It trusts nothing that the engine says of itself.
import type { Intent, IntentBasis } from '../../src/domain/intent.ts';
import type { Mode } from '../../src/domain/mode.ts';
import type { IntentLife, Ledger } from './ledger.ts';
import type { PlatformRequest, Witness } from './platform.ts';
import { LATE_MAX_MS, type ListFate, type Profile, QUIET_MS, STALE_MAX_MS } from './profile.ts';
import { SERVICE_RULE } from './rules.ts';
import type { SimClock } from './sim-clock.ts';
import { ACTION_OF, INVERSE_OF, type Truth, VERB_OF } from './truth.ts';
import type { Effect, World } from './world.ts';

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
  | 'beyond_mode'
  | 'on_untrusted'
  | 'false_outcome'
  | 'broken_chain'
  | 'broke';

export interface Violation {
  kind: ViolationKind;
  atMs: number;
  text: string;
}

/** What the engine is doing now, as those who asked for it know it. */
export interface Operation {
  name: 'run' | 'apply';
  mode: Mode;
  startMs: number;
  daemonMode: Mode;
  /** Modes of the rules when it began. */
  rules: ReadonlyMap<string, Mode>;
  /** A rule's mode by now: the last look before a call asks for it again. */
  modeNow(rule: string): Mode;
  /** What the last reading of each source was like. */
  lists: Map<string, { fate: ListFate; isShort: boolean }>;
  /** Requests so far, by action. */
  requests: Map<string, number>;
}

/** A fresh read and what follows it, with their latencies. */
const LOOK_MS = STALE_MAX_MS + 1_500;
/** A person's act this close to an attempt cannot be told from it. */
const BESIDE_MS = 60_000;
const DAY_MS = 86_400_000;
const UNTRUSTED: ReadonlySet<ListFate> = new Set(['shifted', 'truncated', 'repeated', 'emptied', 'broken']);

export class Checker implements Witness {
  readonly violations: Violation[] = [];
  readonly approvedPlans = new Set<string>();
  operation: Operation | undefined;
  retries = 0;

  constructor(
    private readonly ledger: Ledger,
    private readonly truth: Truth,
    private readonly world: World,
    private readonly clock: SimClock,
    private readonly profile: Profile,
  ) {}

  report(kind: ViolationKind, text: string): void {
    this.violations.push({ kind, atMs: this.clock.trueMs, text });
  }

  onList(source: 'devices' | 'services' | 'events', fate: ListFate, count: number): void {
    const before = this.ledger.baselineCount(source);
    const isShort = before !== undefined && count < before * 0.79;
    this.operation?.lists.set(source, { fate, isShort });
  }

  onRequest(request: PlatformRequest): void {
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
    this.checkOnce(request, intent, life, before);
    this.checkModes(request, intent, life);
    this.checkCeilings(request, action);
    this.checkTrust(request, intent, life);
    this.checkGrounds(request, intent);
    if (this.truth.wasSoThroughout(request.verb, request.target, request.atMs - LOOK_MS, request.atMs)) {
      this.report('acted_needlessly', `${action} ${request.target}: it was so already`);
    }
    if (intent.undo) this.checkUndo(request, intent);
  }

  /** What was settled by the last commit. */
  onCommit(): void {
    for (const life of this.ledger.follow()) this.checkOutcome(life);
  }

  /** One possibly effective request for an intent, and one more after a doubt; none for an episode that had its own. */
  private checkOnce(request: PlatformRequest, intent: Intent, life: IntentLife, before: PlatformRequest[]): void {
    const possible = before.filter(({ answer }) => answer !== 'failed');
    if (possible.length > 1)
      this.report('doubled', `intent ${intent.id} (${intent.action} ${intent.target}) is sent a third time`);
    const doubted = life.settled.some(({ outcome }) => outcome === 'unknown');
    if (possible.length === 1) this.checkRetry(request, intent, possible[0] as PlatformRequest, doubted);
    if (before.length >= 4)
      this.report('doubled', `intent ${intent.id} was refused ${before.length} times and goes on`);
    const grounds = intent.basis.filter((basis) => !this.hadItsRequest(request, intent, basis));
    if (grounds.length === 0) {
      const person = this.personUndid(request);
      this.report(
        person ? 'against_a_person' : 'doubled',
        `${intent.action} ${intent.target}: its trouble has lasted since an earlier intent's request${person ? ', and a person reversed that' : ''}`,
      );
    }
  }

  private checkRetry(request: PlatformRequest, intent: Intent, first: PlatformRequest, doubted: boolean): void {
    this.retries += 1;
    if (!doubted) this.report('doubled', `intent ${intent.id} is sent again without a doubt on record`);
    if (intent.doubtRetries !== 1)
      this.report('doubled', `intent ${intent.id}: ${intent.doubtRetries} retries on record`);
    const jumped = this.clock.jumpedAtMs > first.atMs - LOOK_MS;
    if (!jumped && request.atMs - first.atMs < QUIET_MS)
      this.report('retried_early', `intent ${intent.id} is sent again ${request.atMs - first.atMs} ms after a doubt`);
  }

  /** Whether another intent already made a request on this ground, and the ground has not gone since. */
  private hadItsRequest(request: PlatformRequest, intent: Intent, basis: IntentBasis): boolean {
    // A held intent of a window rule outlives its match: a person approved each of them.
    if (intent.approved && basis.rule === SERVICE_RULE) return false;
    const over = intent.undo ? 'match' : 'no_match';
    for (const other of this.ledger.intents.values()) {
      if (other.id === intent.id || other.action !== intent.action || other.target !== intent.target) continue;
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

  /** Whether the engine itself turned it back since, for good reason, which is judged apart: then it may be done once more. */
  private wasTurnedBack({ verb, target }: PlatformRequest, sinceMs: number): boolean {
    const done = ACTION_OF[INVERSE_OF[verb]];
    const lives = [...this.ledger.intents.values()].filter((life) => life.action === done && life.target === target);
    return lives.some(({ requests }) => requests.some(({ atMs, answer }) => atMs > sinceMs && answer !== 'failed'));
  }

  private personUndid(request: PlatformRequest): boolean {
    const reversal = INVERSE_OF[request.verb];
    return this.world.effects.some(
      ({ verb, target, request: by, changed }) =>
        verb === reversal && target === request.target && by === undefined && changed,
    );
  }

  private checkModes(request: PlatformRequest, intent: Intent, { rules, sent }: IntentLife): void {
    const { operation } = this;
    const what = `${intent.action} ${intent.target}`;
    if (!operation) {
      this.report('beyond_mode', `request ${request.number} (${what}) comes outside any operation`);
      return;
    }
    if (operation.mode === 'dry-run' || operation.daemonMode === 'dry-run')
      this.report('beyond_mode', `${what} in a dry run`);
    if (intent.approved) {
      if (!intent.planId || !this.approvedPlans.has(intent.planId))
        this.report('beyond_mode', `${what}: nobody approved its plan`);
    } else if (operation.mode !== 'enforce' || operation.daemonMode !== 'enforce') {
      this.report(
        'beyond_mode',
        `${what} in mode ${operation.mode} of a daemon of mode ${operation.daemonMode}, unapproved`,
      );
    }
    // Applying may continue an intent that failed before anybody approved it.
    const floor = intent.approved || operation.name === 'apply' ? ['approve', 'enforce'] : ['enforce'];
    for (const rule of rules) {
      const mode = operation.rules.get(rule) ?? 'off';
      if (!floor.includes(mode) && !floor.includes(operation.modeNow(rule)))
        this.report('beyond_mode', `${what}${sent.length > 1 ? ' (again)' : ''}: rule ${rule} has mode ${mode}`);
    }
  }

  private checkCeilings({ wallMs }: PlatformRequest, action: string): void {
    const { operation, profile } = this;
    if (!operation) return;
    const count = (operation.requests.get(action) ?? 0) + 1;
    operation.requests.set(action, count);
    if (count > profile.runCeiling)
      this.report('beyond_ceiling', `${count} × ${action} in one run (${profile.runCeiling})`);
    let lastDay = 0;
    for (const life of this.ledger.intents.values()) {
      if (life.action === action) lastDay += life.requests.filter((item) => item.wallMs >= wallMs - DAY_MS).length;
    }
    if (lastDay > profile.dayCeiling)
      this.report('beyond_ceiling', `${lastDay} × ${action} in a day (${profile.dayCeiling})`);
  }

  /** Nothing new begins on a reading that cannot be believed; doubts of earlier runs are older than it. */
  private checkTrust(request: PlatformRequest, intent: Intent, life: IntentLife): void {
    const { operation } = this;
    if (operation?.name !== 'run' || intent.approved || life.sent.length > 1) return;
    const source = request.verb === 'ban' || request.verb === 'unban' ? 'devices' : 'services';
    const reading = operation.lists.get(source);
    if (!reading || (!UNTRUSTED.has(reading.fate) && !reading.isShort)) return;
    this.report('on_untrusted', `${intent.action} ${intent.target} on a list that came ${reading.fate}`);
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
    if (!intent.action.endsWith('_service')) return atMs - LOOK_MS;
    const isApproved = intent.approved || this.operation?.name === 'apply';
    return Math.min(isApproved ? 0 : atMs, (this.operation?.startMs ?? atMs) - LOOK_MS);
  }

  private checkUndo(request: PlatformRequest, intent: Intent): void {
    const undone = INVERSE_OF[request.verb];
    const last = this.lastChange(request.target, undone);
    if (last && last.request === undefined && !this.isBesideAttempt(last, request.target)) {
      this.report('against_a_person', `${intent.action} ${intent.target}: a person made it so`);
    }
    for (const claim of this.ledger.openClaims(request.target)) {
      if (claim.action !== ACTION_OF[undone] || (this.operation?.rules.get(claim.rule) ?? 'off') === 'off') continue;
      if (this.truth.alwaysSaw('match', claim.rule, claim.subjectId, request.atMs - LOOK_MS, request.atMs))
        this.report('against_a_claim', `${intent.action} ${intent.target}: rule ${claim.rule} still claims it`);
    }
  }

  private lastChange(target: string, verb: Effect['verb']): Effect | undefined {
    return this.world.effects.findLast((effect) => effect.target === target && effect.verb === verb && effect.changed);
  }

  /** Whether a person's act fell into an attempt on the target or its doubt, or was never to be seen between two looks. */
  private isBesideAttempt({ atMs, verb }: Effect, target: string): boolean {
    const before = this.world.effects.findLast(
      (effect) => effect.target === target && effect.atMs < atMs && effect.changed,
    );
    if (before && before.verb !== verb && before.request === undefined && !this.lookedBetween(before.atMs, atMs))
      return true;
    return [...this.ledger.intents.values()].some((life) => {
      if (life.target !== target || life.sent.length === 0) return false;
      const from = (life.sent[0] as number) - BESIDE_MS;
      const last = life.settled.at(-1);
      const sure = last?.outcome === 'unknown' ? undefined : last;
      return atMs >= from && atMs <= (sure?.atMs ?? Number.POSITIVE_INFINITY) + STALE_MAX_MS + LATE_MAX_MS;
    });
  }

  /** Whole runs on readings to be believed, by true time: what they could have seen, they must have seen. */
  private readonly looks: { fromMs: number; toMs: number }[] = [];

  /** A whole run has ended that began then. */
  lookedFrom(fromMs: number): void {
    const readings = [...(this.operation?.lists.values() ?? [])];
    // A dry run leaves claims as they are, whatever it sees.
    const isLive = this.operation?.mode !== 'dry-run' && this.operation?.daemonMode !== 'dry-run';
    const isBelieved = readings.every(({ fate, isShort }) => !UNTRUSTED.has(fate) && !isShort);
    if (isLive && isBelieved && this.clock.offsetMs === 0) this.looks.push({ fromMs, toMs: this.clock.trueMs });
  }

  private lookedBetween(fromMs: number, toMs: number): boolean {
    return this.looks.some((look) => look.fromMs > fromMs + QUIET_MS + STALE_MAX_MS && look.toMs < toMs);
  }

  /** Done must have been seen done; succeeded must have been answered so. */
  private checkOutcome({ id, action, target, requests, settled }: IntentLife): void {
    const last = settled.at(-1);
    if (last?.outcome !== 'succeeded' && last?.outcome !== 'confirmed') return;
    const verb = VERB_OF[action];
    if (!verb) return;
    if (last.outcome === 'succeeded' && requests.at(-1)?.answer !== 'done')
      this.report('false_outcome', `intent ${id} (${action} ${target}) succeeded, but was not answered so`);
    if (!this.truth.wasSoAtTimes(verb, target, last.atMs - LOOK_MS, last.atMs))
      this.report('false_outcome', `intent ${id} (${action} ${target}) is ${last.outcome}, but it was not so`);
  }
}
