// harness: judges looks at the event log: a look acts on subjects that its events name and ends nothing; it counts as one run with the last
// whole one, which was trusted and is recent. In: a look's requests, commits and result. Out: violations.
import type { Intent } from '../../src/domain/intent.ts';
import type { WatchLook } from '../../src/domain/run.ts';
import type { Source } from '../../src/domain/subjects.ts';
import { partiesOf } from './check-operator.ts';
import { isBelieved, type ListSeen, SOURCE_OF } from './check-trust.ts';
import type { Checker } from './checker.ts';
import type { WorldEvent } from './event-log.ts';
import type { IntentLife, WholeRun } from './ledger.ts';
import { type EndedCounts, LookRows } from './look-rows.ts';
import type { PlatformRequest } from './platform.ts';
import { LOOK_MS } from './profile.ts';

/** What was so when the look began, and whom its events have named since. */
interface Begun {
  whole: WholeRun | undefined;
  missed: number;
  known: ReadonlySet<string>;
  ended: EndedCounts;
  sealedTwice: readonly string[];
  runs: number;
  openThings: string;
  named: Set<string>;
}

/** Scheduled runs that may have been missed. */
const MISSED_MAX = 1;

export class LookRules {
  private begun: Begun | undefined;
  /** How the lists of each run were read, by its id. */
  private readonly lists = new Map<string, Map<Source, ListSeen>>();

  constructor(private readonly checker: Checker) {}

  private get rows(): LookRows {
    return new LookRows(this.checker.ledger);
  }

  begin(missedSince: (atMs: number) => number): void {
    const { ledger } = this.checker;
    const whole = ledger.lastWholeRun();
    this.begun = {
      whole,
      missed: whole ? missedSince(whole.startedAt) : Number.POSITIVE_INFINITY,
      known: this.rows.eventIds(),
      ended: this.rows.ended(),
      sealedTwice: this.rows.sealedTwice(this.checker.clock.nowMs()),
      runs: this.rows.runCount(),
      openThings: this.rows.openThings(),
      named: new Set(),
    };
  }

  /** A list is read by the newest run. */
  onList(source: Source, seen: ListSeen): void {
    if (this.checker.operation?.name !== 'run') return;
    const run = this.checker.ledger.newestRun();
    if (run !== undefined) this.lists.set(run, new Map(this.lists.get(run)).set(source, seen));
  }

  onEvents(events: readonly WorldEvent[]): void {
    const { begun } = this;
    if (!begun) return;
    for (const event of events) {
      if (begun.known.has(event.id)) continue;
      for (const name of this.namesIn(event)) begun.named.add(name);
    }
  }

  /** A serial number, unless it came with a device that does not have it; a service. */
  private namesIn({ device, service }: WorldEvent): string[] {
    const { devices } = this.checker.world.born;
    const known = devices.find(({ id }) => id === device?.id);
    const isForged = device?.id !== undefined && device.serial !== undefined && device.serial !== known?.serial;
    const serial = isForged ? undefined : (device?.serial ?? known?.serial);
    return [serial, service].filter((name) => name !== undefined);
  }

  onRequest({ verb, target, atMs }: PlatformRequest, intent: Intent, life: IntentLife): void {
    const { begun, checker } = this;
    if (checker.operation?.name === 'check') this.checkBasis('beyond_check', checker.ledger.lastWholeRun(), verb, life);
    if (checker.operation?.name !== 'look' || !begun) return;
    const { whole, named, missed } = begun;
    const unwatched = checker.profile.reversals?.unwatched;
    const what = `${intent.action} ${target}`;
    const report = (text: string) => checker.report('beyond_look', `${what}: ${text}`);
    if (intent.undo) report('a look undoes it');
    if (life.sent.length === 1 && intent.basis.every(({ rule }) => rule === unwatched))
      report(`${unwatched} is judged by whole runs alone`);
    if (!named.has(target.split(' ')[0] as string)) report('no new event names it');
    if (!whole) {
      report('there was no whole run');
      return;
    }
    if (missed > MISSED_MAX) report(`${missed} scheduled runs were missed`);
    this.checkBasis('beyond_look', whole, verb, life);
    this.checkLimits(intent, life, whole, atMs, report);
  }

  /** It rests on the last whole run, which was trusted, and counts with it. */
  private checkBasis(
    kind: 'beyond_look' | 'beyond_check',
    whole: WholeRun | undefined,
    verb: PlatformRequest['verb'],
    { run, action, target }: IntentLife,
  ): void {
    const report = (text: string) => this.checker.report(kind, `${action} ${target}: ${text}`);
    const reading = this.lists.get(whole?.id ?? '')?.get(SOURCE_OF[verb] ?? 'services');
    if (reading && !isBelieved(reading)) report(`the list of the last whole run came ${reading.fate}`);
    if (this.checker.ledger.countedRun(run) !== whole?.id) report(`it counts with run ${run}, not ${whole?.id}`);
  }

  /** What began since the last whole run, with it: as if one run had made it. */
  private checkLimits(
    intent: Intent,
    life: IntentLife,
    whole: WholeRun,
    atMs: number,
    report: (text: string) => void,
  ): void {
    const { ledger, profile, world } = this.checker;
    if (life.sent.length > 1 || intent.approved || !life.rules.includes(LIMITED)) return;
    const since = [...ledger.intents.values()].filter(
      (other) =>
        other.sent.length > 0 &&
        other.firstRun !== '' &&
        ledger.countedRun(other.firstRun) === whole.id &&
        other.rules.includes(LIMITED) &&
        other.action === intent.action &&
        isUnapproved(ledger.intent(other.id)),
    );
    const targets = new Set(since.map(({ target }) => target));
    if (targets.size > profile.limit)
      report(`${targets.size} targets of ${LIMITED} since the last whole run (limit ${profile.limit})`);
    if (!profile.looks?.ownersOne) return;
    const versions = world.during(atMs - LOOK_MS, atMs);
    const ownersOf = (target: string) =>
      versions.map((version) => partiesOf(version, target).filter((party) => party.startsWith('user ')));
    const own = ownersOf(intent.target);
    for (const target of targets) {
      if (target === intent.target) continue;
      const others = ownersOf(target);
      if (own.every((owners, at) => owners.some((owner) => others[at]?.includes(owner))))
        report(`${LIMITED} takes one device of an owner, and took ${target} since the last whole run`);
    }
  }

  onCommit(): void {
    const { begun, checker } = this;
    if (checker.operation?.name !== 'look' || !begun) return;
    const now = this.rows.ended();
    for (const [what, count] of Object.entries(now))
      if (count > begun.ended[what as keyof EndedCounts])
        checker.report('beyond_look', `a look ended ${what}: ${begun.ended[what as keyof EndedCounts]}, now ${count}`);
    begun.ended = now;
    for (const key of this.rows.sealedTwice(checker.clock.nowMs()))
      if (!begun.sealedTwice.includes(key)) checker.report('beyond_look', `two pending plans have ${key}`);
  }

  /** A look that changed nothing has no run. */
  end({ result }: WatchLook): void {
    const { begun, checker } = this;
    this.begun = undefined;
    const more = this.rows.runCount() - (begun?.runs ?? 0);
    if (more !== (result === 'acted' ? 1 : 0))
      checker.report('beyond_look', `a look that answered \`${result}\` left ${more} runs`);
    const run = checker.ledger.newestRun();
    if (result !== 'acted' || run === undefined || this.rows.changesOf(run) > 0) return;
    if (this.rows.openThings() === begun?.openThings)
      checker.report('beyond_look', `run ${run} of a look has changed nothing`);
  }
}

/** The rule with the limit of the profile. */
const LIMITED = 'ban-first';

function isUnapproved(intent: Intent | undefined): boolean {
  return intent !== undefined && !intent.approved && !intent.undo && !intent.released;
}
