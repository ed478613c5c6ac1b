// run: pull and evaluate in one pass: each record is judged as it comes, so that the fleet is never whole in memory.
// Order: events first (they fill the windows), users before devices when `$owners` is read, devices before users for
// `$devices`.

import { elapsedMs, type SteadyReading, throughout } from '../../base/time.ts';
import { type Bundles, fieldsWritten } from '../../domain/action.ts';
import type { Facts } from '../../domain/facts.ts';
import { guardsOf } from '../../domain/guards.ts';
import type { IdentityChanges, PresentPrints } from '../../domain/identity.ts';
import { isDone } from '../../domain/intent.ts';
import type { LookBack, LookBackPass } from '../../domain/look-back.ts';
import type { Acceptance, UsedAcceptance } from '../../domain/operator.ts';
import type { Api } from '../../domain/ports.ts';
import { type DecidedVerdicts, isNewVerdict, type PartReaders, type RecordPart } from '../../domain/record-part.ts';
import { formOf, type SeenSubjects } from '../../domain/recorded-history.ts';
import type { Run } from '../../domain/run.ts';
import { type Baseline, isUsable, type Movement, type Sight, type SourceReading } from '../../domain/snapshot.ts';
import type { OpenState } from '../../domain/store.ts';
import { KIND_OF, SOURCE_OF, SOURCES, type Source, SUBJECT_KINDS, type SubjectKind } from '../../domain/subjects.ts';
import {
  type Evaluator,
  FLIP_TRIES_MAX,
  FLIPS_MAX,
  type Flip,
  type Judge,
  type JudgeContext,
  type Judgement,
  type WantedFlips,
} from '../../domain/verdict.ts';
import { Exemptions } from '../decide/exemptions.ts';
import { FleetIndex } from '../pull/fleet-index.ts';
import { IdentityPass, redactedBaseline } from '../pull/part-reader.ts';
import { type Consumer, type PartsPull, pullSource, skippedReading } from '../pull/pull-source.ts';
import type { RecordPass } from '../pull/record-pass.ts';
import { acceptStanding, earlierReadings } from '../pull/stand-still.ts';
import { acceptReading } from '../pull/trust-gate.ts';
import type { PullEngine, RunRules } from './engine.ts';
import { type GivenRead, NO_GIVEN } from './given.ts';
import {
  type ListReason,
  type OwnReads,
  pullBundles,
  readGroups,
  readOwnDoings,
  SeenRecords,
  unreadGroups,
} from './own-reads.ts';
import { readNewEvents, takeUpSignals } from './part-snapshot.ts';
import {
  decidedVerdicts,
  type JudgeView,
  judgementOf,
  type PulledSnapshot,
  watchedSubjects,
} from './pulled-snapshot.ts';
import {
  fillLookBack,
  KeptRecords,
  needsExemptOwners,
  readNamedActs,
  readsBundles,
  ServiceChanges,
  unpagedForActions,
} from './reading-needs.ts';

// A pass over the devices of a large fleet whose parts other threads read and judge.

/** The result of a pass over one source: its judgement, the values that the trust gate compares, what names find its subjects. */
interface Pass {
  judgement: Judgement | undefined;
  values: Baseline['values'];
  identities: Omit<IdentityChanges, 'readAt'>;
  /** For the history; undefined: nothing is recorded. */
  records: Pick<SeenSubjects, 'changed' | 'prints'> | undefined;
  /** What it left. */
  flipBudget: WantedFlips['budget'];
  /** Where some rule looks back on these subjects. */
  lookBack?: LookBackPass | undefined;
  /** Of whether the source moves. */
  sight: Sight;
}

interface PartsPassOptions {
  api: Api;
  readers: PartReaders;
  evaluator: Evaluator;
  form: 'paged' | 'unpaged';
  events: Parameters<PartReaders['begin']>[1];
  setup: Omit<
    Parameters<PartReaders['begin']>[2],
    'flipsLeft' | 'isExampleWanted' | 'prints' | 'recordPrints' | 'source'
  >;
  context: JudgeContext;
  /** For one attempt, fresh. */
  fresh(): { fleet: FleetIndex; identities: IdentityPass; records: RecordPass; flips: WantedFlips };
}

/** Undefined where the API cannot hand over pieces. */
function partsPass(options: PartsPassOptions): PartsPull<Pass> | undefined {
  const { api, readers, evaluator, events, form } = options;
  if (!api.inPieces) return undefined;
  return {
    recordsMin: readers.recordsMin,
    begin: async () => {
      const { fleet, identities, records, flips } = options.fresh();
      const flipsLeft = new Uint8Array(new SharedArrayBuffer(1));
      const finder = new FlipsOfParts(evaluator, { ...options.context, flips }, flips, flipsLeft);
      const merge = evaluator.merge('device');
      const { isExampleWanted } = merge;
      const prints = { prints: identities.shared, recordPrints: records.shared };
      const shared = { flipsLeft, isExampleWanted, ...prints };
      const read = await readers.begin(evaluator, events, { ...options.setup, ...shared, source: 'devices' });
      if (!read) return undefined;
      const consumer = {
        accept: (part: RecordPart) => {
          fleet.addPart(part.fleet);
          identities.acceptPart(part.identities);
          records.acceptPart(part.changed, part.sight);
          finder.find(part);
          merge.add(part.judged);
        },
        finish: (): Pass => {
          const judgement = merge.finish();
          return {
            judgement,
            values: judgement.values,
            identities: identities.finish(),
            ...records.finish(),
            flipBudget: flips.budget,
          };
        },
      };
      return { consumer, parts: (api as Required<Api>).inPieces('devices', form, read) };
    },
  };
}

/** Judges again the records whose verdicts are new, in their order, to find the flips that a pass looks for. */
class FlipsOfParts {
  private readonly judge: Judge;
  private known = 0;
  private knownOpen = 0;

  constructor(
    evaluator: Evaluator,
    context: JudgeContext,
    private readonly flips: WantedFlips,
    private readonly left: Uint8Array,
  ) {
    this.judge = evaluator.judge('device', context);
    this.show();
  }

  find({ wanted, judged }: RecordPart): void {
    if (wanted.length === 0 || !this.isLeft()) return;
    for (const record of wanted) this.judge.accept(record as Facts);
    const { matches, open } = this.judge.finish();
    const found = new Map<string, Flip>();
    for (const { rule, summary, flip } of [...matches.slice(this.known), ...open.slice(this.knownOpen)])
      if (flip) found.set(`${rule} ${summary.id}`, flip);
    [this.known, this.knownOpen] = [matches.length, open.length];
    for (const each of [...judged.matches, ...judged.open]) {
      const flip = found.get(`${each.rule} ${each.summary.id}`);
      if (flip) each.flip = flip;
    }
    this.show();
  }

  private isLeft(): boolean {
    const { flips, tries } = this.flips.budget;
    return flips > 0 && tries > 0;
  }

  private show(): void {
    this.left[0] = this.isLeft() ? 1 : 0;
  }
}

type Subjects = Exclude<Source, 'events'>;

/** What earlier runs have seen of one kind. */
interface Present {
  identities: PresentPrints;
  records: Awaited<ReturnType<SeenRecords['passes']>>;
}

export async function pullSnapshot(
  engine: PullEngine,
  run: Run,
  rules: RunRules,
  openState: OpenState,
): Promise<PulledSnapshot> {
  return new SnapshotPull(engine, run, rules, openState).pull();
}

class SnapshotPull {
  private readonly sources = {} as Record<Source, SourceReading>;
  private readonly judgements: Judgement[] = [];
  private baselines: Baseline[] = [];
  private readonly movements: Movement[] = [];
  private identities: IdentityChanges[] = [];
  /** A list may be read twice: the last reading counts. */
  private readonly lookBacks = new Map<Subjects, LookBackPass | undefined>();
  private readonly kept: KeptRecords;
  private readonly seen: SeenRecords;
  private readonly unavailable = new Set<Source>();
  private readonly watched: ReadonlyMap<string, ReadonlySet<string>>;
  private readonly unpagedForActions: ReadonlySet<Source>;
  private readonly exemptions: Exemptions;
  private readonly accepted: UsedAcceptance[] = [];
  private readonly decided: DecidedVerdicts;
  private flipBudget: WantedFlips['budget'] = { flips: FLIPS_MAX, tries: FLIP_TRIES_MAX };
  private fleet = new FleetIndex();
  private coverage: JudgeView['coverage'] = [];
  private given: GivenRead | undefined;
  private bundles: Bundles | undefined;
  private serviceChanges = new ServiceChanges();
  /** The longest window of the active rules. */
  private windowMs = 0;
  /** No list of devices was read before. */
  private isFirst = false;

  constructor(
    private readonly engine: PullEngine,
    private readonly run: Run,
    private readonly rules: RunRules,
    private readonly openState: OpenState,
  ) {
    this.seen = new SeenRecords(engine.history, engine.printKey);
    this.watched = watchedSubjects(openState);
    this.decided = decidedVerdicts(openState, rules.rules, run.startedAt);
    this.unpagedForActions = unpagedForActions(rules.rules, engine.actions);
    this.exemptions = new Exemptions(openState.exemptions ?? [], run.startedAt, guardsOf(rules.rules));
    this.kept = new KeptRecords(rules.evaluator, this.exemptions);
    for (const source of SOURCES) this.sources[source] = skippedReading(source, run.startedAt);
  }

  async pull(): Promise<PulledSnapshot> {
    const { needs } = this.rules.evaluator;
    const recorded = this.recordedLists();
    this.engine.history?.prepare?.();
    const begun = this.engine.steady.read();
    if (needs.sources.has('events') || recorded.has('events')) await this.pullEvents();
    else await this.takeUpSignals();
    this.given = await this.readGiven();
    this.rules.evaluator.advance(this.run.startedAt);
    await fillLookBack(this.engine, this.rules.evaluator, this.run.startedAt);
    if (needs.owners && needs.devices) await this.pullSubjects('users', undefined);
    else if (needs.sources.has('users') && !needs.devices) await this.pullSubjects('users', 'user');
    else if (needsExemptOwners(this.exemptions, needs.sources)) await this.pullSubjects('users', undefined);
    if (needs.sources.has('devices')) await this.pullSubjects('devices', 'device');
    else if (this.unpagedForActions.has('devices')) await this.pullSubjects('devices', undefined);
    if (needs.sources.has('users') && needs.devices) await this.pullSubjects('users', 'user');
    if (needs.sources.has('services')) await this.pullSubjects('services', 'service');
    for (const source of SUBJECT_KINDS.map((kind) => SOURCE_OF[kind]))
      if (recorded.has(source) && this.sources[source].state === 'skipped') await this.pullSubjects(source, undefined);
    await this.engine.readers?.rest(this.isFirst);
    await this.readExemptGroups();
    if (this.asksForBundles()) this.bundles = await pullBundles(this.engine, this.run);
    const steady = throughout(begun, this.engine.steady.read());
    const { reads, contradicted } = await this.readOwnDoings(steady);
    for (const reason of contradicted) this.distrust(reason);
    return { ...this.result(steady), ownReads: reads, namedActs: await this.namedActs(steady) };
  }

  /** Of a log that this run did not read, what looks have read of it. */
  private async namedActs(steady: SteadyReading): Promise<PulledSnapshot['namedActs']> {
    const { engine, openState, fleet, serviceChanges: services } = this;
    const { state } = this.sources.events;
    if (state !== 'skipped' && !isUsable(this.sources.events)) return undefined;
    return readNamedActs({ engine, openState, steady, fresh: [], services, fleet });
  }

  /** A run over chosen rules, and a what-if, read what these need and no more. */
  private recordedLists(): ReadonlySet<Source> {
    const { scoped, whatIf } = this.run;
    return (scoped || whatIf ? undefined : this.engine.history?.lists) ?? new Set();
  }

  /** Without them nobody knows who is exempt: nothing is done then. */
  private async readExemptGroups(): Promise<void> {
    const { engine, exemptions, judgements, fleet, kept, sources } = this;
    if (engine.settings.lists !== 'v2' || !exemptions.asksForGroups) return;
    const why = await readGroups(engine.api, judgements, fleet, exemptions, kept.exemptOwners);
    for (const source of why === undefined ? [] : (['devices', 'users'] as const))
      sources[source] = unreadGroups(sources[source], why as string);
  }

  private readOwnDoings(steady: SteadyReading): Promise<OwnReads> {
    const { engine, openState, sources, fleet, bundles, judgements } = this;
    const { actions: traits, quiet } = engine;
    return readOwnDoings(engine, {
      ...{ traits, openState, sources, fleet, bundles, judgements, steady },
      quietMs: quiet.read().ms,
    });
  }

  /** Nothing of a reading that is not trusted after all is compared with later ones. */
  private distrust(reason: ListReason): void {
    const { source } = reason;
    const reading = this.sources[source];
    this.sources[source] = { ...reading, trusted: false, reasons: [...reading.reasons, reason] };
    if (source === 'devices') this.fleet.tellsOwners = false;
    this.baselines = this.baselines.filter((one) => one.source !== source);
    this.identities = this.identities.filter(({ kind }) => SOURCE_OF[kind] !== source);
  }

  private asksForBundles(): boolean {
    const named = [...this.rules.rules.flatMap((rule) => rule.then), ...this.openState.claims];
    return readsBundles(named, this.engine.actions) && this.sources.services.state === 'read';
  }

  /** All that the set names: the history has them, also where a run is of some rules. */
  private async readGiven(): Promise<GivenRead | undefined> {
    const { engine, rules, run } = this;
    const sources = guardsOf(rules.rules)?.sources ?? [];
    const { given, settings, store: reader } = engine;
    const { evaluator } = rules;
    const asked = { sources, evaluator, reader, trust: settings.trust, nowMs: run.startedAt };
    return sources.length === 0 ? undefined : await (given ?? NO_GIVEN).read(asked, !run.whatIf);
  }

  private async pullEvents(): Promise<void> {
    const acceptance = await this.acceptanceOf('events');
    const { reading, movement, coverage, windowMs } = await readNewEvents(this.engine, this.run, this.rules);
    this.windowMs = windowMs;
    this.sources.events = this.afterAcceptance(reading, movement, acceptance);
    this.coverage = coverage;
    if (reading.state !== 'read') this.unavailable.add('events');
  }

  private async takeUpSignals(): Promise<void> {
    const { coverage, windowMs } = await takeUpSignals(this.engine, this.run, this.rules);
    this.windowMs = windowMs;
    this.coverage = coverage;
  }

  private async pullSubjects(source: Subjects, kind: SubjectKind | undefined): Promise<void> {
    const { engine } = this;
    const isV2 = source !== 'services' && engine.settings.lists === 'v2';
    const form = source === 'services' || (!isV2 && this.isUnpaged(source)) ? 'unpaged' : 'paged';
    const baseline = redactedBaseline(await engine.store.baseline(source));
    const acceptance = await this.acceptanceOf(source);
    const lists = isV2 ? { lists: 'v2' as const } : {};
    const ofForm = formOf({ form, ...lists }) as string;
    const { readers } = engine;
    // Threads begin while other things are read.
    if (readers && this.readsInParts(source) && (baseline?.count ?? 0) >= readers.recordsMin) readers.prepare();
    const [identities, records] = await Promise.all([
      engine.store.presentPrints(KIND_OF[source], engine.printKey),
      this.seen.passes(KIND_OF[source], { form, ...lists }, this.latestMs()),
    ]);
    const present = { identities, records };
    if (source === 'devices') this.isFirst = identities.length === 0;
    const pulled = await pullSource({
      api: engine.api,
      clock: engine.clock,
      source,
      form,
      baseline,
      moved: {
        source,
        form: ofForm,
        before: await engine.store.movement(source, ofForm),
        doneAt: this.doneAt(KIND_OF[source]),
      },
      isGrowthAccepted: acceptance?.causes.includes('grown') ?? false,
      trust: engine.settings.trust,
      signal: engine.signal,
      makeConsumer: () => this.consumer(source, kind, present),
      inParts: this.inParts(source, form, present),
      seen: (done, total = baseline?.count) => engine.progress?.({ phase: 'reading', what: source, done, total }),
    });
    const { result } = pulled;
    const listed = { ...pulled.reading, ...lists };
    const reading = this.afterAcceptance(listed, pulled.movement, acceptance);
    this.sources[source] = reading;
    if (reading.state !== 'read') this.unavailable.add(source);
    if (source === 'devices')
      this.fleet.tellsOwners = (form === 'unpaged' || isV2) && reading.state === 'read' && reading.trusted;
    this.lookBacks.set(source, result?.lookBack);
    if (result?.judgement) this.judgements.push(result.judgement);
    if (result) this.flipBudget = result.flipBudget;
    if (result && reading.state === 'read') this.seen.add(KIND_OF[source], reading, result.records);
    if (reading.trusted && result) {
      const values = { ...baseline?.values, ...result.values };
      const { finishedAt: takenAt, count } = reading;
      // A person who accepts a reading accepts how far it is from all before it.
      const earlier = reading.accepted ? [] : earlierReadings(baseline, takenAt);
      this.baselines.push({ source, takenAt, count, values, earlier });
      this.identities.push({ ...result.identities, readAt: takenAt });
    }
  }

  /** Of version 1, only the unpaged list names the owners of devices. */
  private isUnpaged(source: 'devices' | 'users'): boolean {
    const owners = source === 'devices' && this.exemptions.asksForOwners;
    return owners || this.unpagedForActions.has(source) || this.rules.evaluator.needs.unpaged.has(source);
  }

  private async acceptanceOf(source: Source): Promise<Acceptance | undefined> {
    return (await this.engine.store.acceptances()).find((each) => each.source === source);
  }

  private afterAcceptance(
    read: SourceReading,
    movement: Movement | undefined,
    acceptance: Acceptance | undefined,
  ): SourceReading {
    const accepted = acceptance && acceptReading(read, acceptance, this.engine.settings.trust);
    if (accepted) this.accepted.push(accepted.used);
    const reading = accepted?.reading ?? read;
    if (movement) this.movements.push(reading.accepted ? acceptStanding(movement) : movement);
    return reading;
  }

  /** A fresh one for each attempt: nothing of a failed attempt is kept. */
  private consumer(source: Subjects, kind: SubjectKind | undefined, present: Present): Consumer<Pass> {
    if (source === 'devices') this.fleet = new FleetIndex(fieldsWritten(this.engine.actions, 'device'));
    const changes = source === 'services' ? new ServiceChanges() : undefined;
    if (changes) this.serviceChanges = changes;
    const flips = this.freshFlips();
    const judge = kind && this.rules.evaluator.judge(kind, { ...this.judgeContext(kind), flips });
    const join = this.kept.joiner(source);
    const exempt = this.kept.exemptKeeper(source);
    const identities = new IdentityPass(KIND_OF[source], present.identities, this.engine.printKey);
    const records = present.records();
    const lookBack = this.looksBackOn(source)?.pass(KIND_OF[source], this.run.startedAt, 'whole');
    const { fleet } = this;
    return {
      accept: (record) => {
        if (source === 'devices') fleet.add(record);
        changes?.accept(record);
        join?.(record);
        exempt?.(record);
        judge?.accept(record);
        identities.accept(record);
        lookBack?.accept(record);
        records.accept(record);
      },
      finish: () => {
        const judgement = judge?.finish();
        return {
          judgement,
          values: judgement?.values ?? {},
          identities: identities.finish(),
          ...records.finish(),
          flipBudget: flips.budget,
          lookBack,
        };
      },
    };
  }

  private looksBackOn(source: Subjects): LookBack | undefined {
    const { lookBack } = this.rules.evaluator;
    return lookBack?.paths.has(KIND_OF[source]) ? lookBack : undefined;
  }

  private freshFlips(): WantedFlips {
    const isNew: WantedFlips['isNew'] = (...verdict) => isNewVerdict(this.decided, ...verdict);
    return { isNew, budget: { ...this.flipBudget } };
  }

  private readsInParts(source: Subjects): boolean {
    const { needs } = this.rules.evaluator;
    return source === 'devices' && needs.sources.has('devices') && !needs.devices && !this.looksBackOn(source);
  }

  /** The devices of a large fleet are read and judged in other threads, unless their records are kept for users or looked back on. */
  private inParts(source: Subjects, form: 'paged' | 'unpaged', present: Present): PartsPull<Pass> | undefined {
    const { readers, api, store, actions, printKey } = this.engine;
    const { evaluator } = this.rules;
    if (!readers || !this.readsInParts(source)) return undefined;
    const context = this.judgeContext('device');
    const { fieldsWritten: written, nowMs } = context;
    const latestMs = this.latestMs();
    return partsPass({
      api,
      readers,
      evaluator,
      form,
      events: () => store.events(this.run.startedAt - this.windowMs),
      setup: {
        ...this.view(),
        nowMs,
        fieldsWritten: written,
        latestMs,
        watched: this.watched,
        decided: this.decided,
        printKey,
      },
      context,
      fresh: () => {
        this.fleet = new FleetIndex(fieldsWritten(actions, 'device'));
        return {
          fleet: this.fleet,
          identities: new IdentityPass('device', present.identities, printKey),
          records: present.records(),
          flips: this.freshFlips(),
        };
      },
    });
  }

  /** The last action that set a field of these records and is done, once reads must show it. */
  private doneAt(kind: SubjectKind): number | undefined {
    const { actions, steady, settings } = this.engine;
    const reading = steady.read();
    const done = this.openState.intents.filter(
      ({ action, mode, outcome, settledAt = Number.POSITIVE_INFINITY }) =>
        mode !== 'dry-run' &&
        isDone({ outcome }) &&
        fieldsWritten(actions, kind).includes(actions.get(action)?.fieldWritten as string) &&
        elapsedMs(reading, settledAt) >= settings.quietMs,
    );
    return done.length === 0 ? undefined : Math.max(...done.map(({ settledAt }) => settledAt as number));
  }

  /** A report of a later time is wrong: a device may send any. */
  private latestMs(): number {
    return this.run.startedAt + this.engine.settings.trust.skewMs;
  }

  private judgeContext(kind: SubjectKind) {
    return {
      fieldsWritten: fieldsWritten(this.engine.actions, kind),
      ...this.view(),
      nowMs: this.run.startedAt,
      isOpen: (rule: string, subjectId: string) => this.watched.get(subjectId)?.has(rule) ?? false,
      hasOpen: (subjectId: string) => this.watched.has(subjectId),
    };
  }

  private view(): JudgeView {
    return {
      joins: { users: this.kept.users, devices: this.kept.devices },
      given: this.given?.tables,
      coverage: this.coverage,
      unavailable: this.unavailable,
    };
  }

  private result(steady: SteadyReading): PulledSnapshot {
    const { devices, users, services } = this.sources;
    const failed = new Set(SOURCES.filter((source) => this.sources[source].state === 'failed'));
    const unjudged = this.rules.rules
      .filter((rule) => rule.sources.some((source) => failed.has(source)))
      .map(({ id }) => id);
    return {
      snapshot: {
        ...{ id: this.engine.ids.next(), nowMs: this.run.startedAt, sources: this.sources },
        ...(this.given && { given: this.given.readings }),
      },
      steady,
      judgements: this.judgements.map((judgement) => judgementOf(judgement, (rule) => !unjudged.includes(rule))),
      fleet: this.fleet,
      unjudged,
      baselines: [...this.baselines, ...(this.given?.baselines ?? [])],
      movements: [...this.movements, ...(this.given?.movements ?? [])],
      identities: this.identities,
      subjects: { device: devices.count, user: users.count, service: services.count },
      view: this.view(),
      bundles: this.bundles,
      exemptOwners: this.kept.exemptOwners,
      lookBacks: [...this.lookBacks].flatMap(([source, pass]) => (isUsable(this.sources[source]) && pass) || []),
      accepted: [...this.accepted, ...(this.given?.accepted ?? [])],
      seen: this.seen.all(this.sources),
    };
  }
}
