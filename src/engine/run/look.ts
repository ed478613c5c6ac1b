// run: one look at the event log between two whole runs: what is new, whom it names, and what the rules say of them now. In: the last whole
// run. Out: what is to be decided, or why nothing is. INVARIANT: on any doubt nothing is decided and nothing is stored, so that the next look
// or whole run sees the same events again.

import { canonicalJson } from '../../base/json.ts';
import { giveWay } from '../../base/turns.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import type { NamedAct, TrustEvent } from '../../domain/event.ts';
import { type Fact, type Facts, ownText, ownTexts } from '../../domain/facts.ts';
import type { IdentityReader } from '../../domain/identity.ts';
import type { RecordedPart, SeenRun } from '../../domain/recorded-history.ts';
import type { Rule } from '../../domain/rule.ts';
import type { RestReason, Run, WatchLook, WatchRequest, WholeReason } from '../../domain/run.ts';
import type { NewSignals } from '../../domain/signal.ts';
import { coverageOf, type SourceReading } from '../../domain/snapshot.ts';
import type { ObservedEvents, OpenState, RunCommit } from '../../domain/store.ts';
import type { NewMatch } from '../../domain/store-ports.ts';
import { SOURCE_OF, SOURCES, type Source, type SubjectKind, summaryOf } from '../../domain/subjects.ts';
import { countedMs } from '../../domain/verdict.ts';
import { COUNTED_REASONS, type DecideInput, type Part } from '../decide/input.ts';
import { readRecord } from '../pull/fleet-index.ts';
import { lookAtEvents, type PulledEvents } from '../pull/pull-events.ts';
import { dropSecrets, type TrustSettings } from '../pull/trust-gate.ts';
import { type Engine, isClockRight, type RunRules } from './engine.ts';
import { fillWindows, observedEvents, partSnapshot, type Standing, standing } from './part-snapshot.ts';
import {
  boundedLookups,
  type JudgedRun,
  type LooksMemory,
  type Lookups,
  type PulledSnapshot,
  RECORDS_MAX,
  readEach,
} from './pulled-snapshot.ts';

// Whom events name.

/** A serial number, and the DeviceIDs that came with it: one of them must be among its devices, unless it also came alone. */
interface NamedSerial {
  ids: Set<string>;
  isAlone: boolean;
}

interface NamedSubjects {
  serials: Map<string, NamedSerial>;
  /** DeviceIDs without a serial number. */
  deviceIds: Set<string>;
  /** In lower case. */
  emails: Set<string>;
  serviceIds: Set<string>;
  /** Of services without an id. */
  serviceNames: Set<string>;
}

function namedSubjects(
  events: readonly TrustEvent[],
  isWanted: (kind: SubjectKind, event: TrustEvent) => boolean,
): NamedSubjects {
  const named: NamedSubjects = {
    serials: new Map(),
    deviceIds: new Set(),
    emails: new Set(),
    serviceIds: new Set(),
    serviceNames: new Set(),
  };
  for (const event of events) {
    if (isWanted('device', event)) nameDevice(named, event);
    if (isWanted('user', event) && event.email !== undefined) named.emails.add(event.email);
    if (isWanted('service', event)) nameService(named, event);
  }
  return named;
}

function nameDevice(named: NamedSubjects, { serialNumber, deviceId }: TrustEvent): void {
  if (serialNumber === undefined) {
    if (deviceId !== undefined) named.deviceIds.add(deviceId);
    return;
  }
  const serial = named.serials.get(serialNumber) ?? { ids: new Set(), isAlone: false };
  named.serials.set(serialNumber, serial);
  if (deviceId === undefined) serial.isAlone = true;
  else serial.ids.add(deviceId);
}

function nameService(named: NamedSubjects, { serviceId, serviceName }: TrustEvent): void {
  if (serviceId !== undefined) named.serviceIds.add(serviceId);
  else if (serviceName !== undefined) named.serviceNames.add(serviceName);
}

/** Each once. */
function namesOf({ serials, deviceIds, emails, serviceIds, serviceNames }: NamedSubjects): Set<string> {
  const each = Object.entries({ serial: serials.keys(), deviceIds, emails, serviceIds, serviceNames });
  return new Set(each.flatMap(([of, names]) => [...names].map((name) => `${of} ${name}`)));
}

// Reads the subjects that events named, one by one. In: their names. Out: records without secrets, each checked against
// the name that it was read by; how many names were of nobody. INVARIANT: a server that ignores a filter does not widen
// what is judged.

/** Characters of a name: an escaped one of this length still fits into every request line. */
const NAME_MAX = 500;

interface NamedRecords {
  records: Record<SubjectKind, Facts[]>;
  /** Names that nobody has: forged, old, or of a subject that has vanished. */
  strangers: number;
}

/** Errors: those of reading the API; then nothing of them counts. */
async function readNamed(lookups: Lookups, reader: IdentityReader, named: NamedSubjects): Promise<NamedRecords> {
  const api = ofPossibleNames(lookups);
  const found: NamedRecords = { records: { device: [], user: [], service: [] }, strangers: 0 };
  const keep = (kind: SubjectKind, records: readonly Facts[]) => {
    if (records.length === 0) found.strangers += 1;
    found.records[kind].push(...records.map((record) => dropSecrets(record, new Set())));
  };
  const serials = await withSerialsOf(api, reader, named);
  found.strangers += serials.strangers;
  for (const devices of await readEach(serials.named, (one) => devicesNamed(api, one))) keep('device', devices);
  for (const users of await readEach(named.emails, (email) => usersNamed(api, reader, email))) keep('user', users);
  const ids = await serviceIdsOf(reader, named);
  found.strangers += ids.strangers;
  for (const services of await readEach(ids.named, (id) => servicesNamed(api, id))) keep('service', services);
  return found;
}

/**
 * The same with the subjects that rules judge by the events of others: devices by those of their owners, users by those of their devices.
 * `joined`: these others.
 */
async function withJoined(
  lookups: Lookups,
  reader: IdentityReader,
  named: NamedSubjects,
  joined: NamedSubjects,
): Promise<{ named: NamedSubjects; strangers: number }> {
  const api = ofPossibleNames(lookups);
  const [serials, emails] = [new Map(named.serials), new Set(named.emails)];
  const owners = await readEach(joined.emails, async (email) => ({
    isNew: !named.emails.has(email),
    found: await usersNamed(api, reader, email),
  }));
  const withSerials = await withSerialsOf(api, reader, joined);
  const devices = await readEach(withSerials.named, async (one) => ({
    isNew: !named.serials.has(one[0]),
    found: await devicesNamed(api, one),
  }));
  for (const serial of owners.flatMap(({ found }) => found.flatMap((user) => ownTexts(user, 'SerialNumbers') ?? [])))
    if (serial !== '') serials.set(serial, { ids: new Set(), ...named.serials.get(serial), isAlone: true });
  for (const email of devices.flatMap(({ found }) => found.flatMap((device) => ownTexts(device, 'Emails') ?? [])))
    if (email !== '') emails.add(email.toLowerCase());
  const nobody = [...owners, ...devices].filter(({ isNew, found }) => isNew && found.length === 0).length;
  return { named: { ...named, serials, emails }, strangers: nobody + withSerials.strangers };
}

/** A server refuses a request that is too long. That would be a failed read, and one forged event would stop every look. */
function ofPossibleNames(api: Lookups): Lookups {
  const isPossible = (name: string) => name.length <= NAME_MAX;
  return {
    address: api.address,
    devicesOfSerial: async (serial) => (isPossible(serial) ? api.devicesOfSerial(serial) : []),
    device: async (id, recordsMax) => (isPossible(id) ? api.device(id, recordsMax) : undefined),
    user: async (email) => (isPossible(email) ? api.user(email) : undefined),
    service: async (id) => (isPossible(id) ? api.service(id) : undefined),
  };
}

/** The serial numbers of devices that were named by DeviceID alone, added to the others. */
async function withSerialsOf(
  api: Lookups,
  reader: IdentityReader,
  { serials, deviceIds }: NamedSubjects,
): Promise<{ named: Map<string, NamedSerial>; strangers: number }> {
  const named = new Map(serials);
  let strangers = 0;
  const found = await readEach(deviceIds, async (id) => ({ id, serial: await serialOf(api, reader, id) }));
  for (const { id, serial } of found) {
    if (serial === undefined) strangers += 1;
    else
      named.set(serial, {
        isAlone: false,
        ...named.get(serial),
        ids: new Set([...(named.get(serial)?.ids ?? []), id]),
      });
  }
  return { named, strangers };
}

/** Older servers look up serial numbers only: what was read before has it. */
async function serialOf(api: Lookups, reader: IdentityReader, id: string): Promise<string | undefined> {
  const known = await reader.identitiesNamed(id);
  const stored = known.find(({ identity, by }) => by === 'id' && identity.kind === 'device' && identity.id === id);
  const serial = stored?.identity.serial || ownText((await api.device(id, RECORDS_MAX)) ?? {}, 'SerialNumber');
  return serial || undefined;
}

/** All devices of the serial number: an action on one hits them all. */
async function devicesNamed(api: Lookups, [serial, { ids, isAlone }]: [string, NamedSerial]): Promise<Facts[]> {
  const all = (await api.devicesOfSerial(serial)).filter((device) => ownText(device, 'SerialNumber') === serial);
  const readable = all.filter((device) => readRecord('devices', device).ok);
  const isNamed = isAlone || readable.some((device) => ids.has(ownText(device, 'DeviceID') as string));
  return isNamed ? readable : [];
}

/** Servers may look up an address only in its own case, and events have it in any. */
async function usersNamed(api: Lookups, reader: IdentityReader, email: string): Promise<Facts[]> {
  const known = await reader.identitiesNamed(email);
  const stored = known.find(({ identity, by }) => by === 'id' && identity.kind === 'user');
  const user = await api.user(stored?.identity.id ?? email);
  const isNamed = user && ownText(user, 'Email')?.toLowerCase() === email && readRecord('users', user).ok;
  return isNamed ? [user] : [];
}

/** A name is looked up among what was read before: the API looks up ids only, and clusters may have services of one name. */
async function serviceIdsOf(
  reader: IdentityReader,
  { serviceIds, serviceNames }: NamedSubjects,
): Promise<{ named: Set<string>; strangers: number }> {
  const named = new Set(serviceIds);
  let strangers = 0;
  for (const name of serviceNames) {
    const own = (await reader.identitiesNamed(name)).filter(
      ({ identity, by }) => by === 'name' && identity.kind === 'service' && identity.name === name,
    );
    if (own.length === 0) strangers += 1;
    for (const { identity } of own) named.add(identity.id);
  }
  return { named, strangers };
}

async function servicesNamed(api: Lookups, id: string): Promise<Facts[]> {
  const service = await api.service(id);
  return service && ownText(service, 'ServiceID') === id && readRecord('services', service).ok ? [service] : [];
}

// Whether one fact moves the same way in many subjects.

interface MovedFact {
  kind: SubjectKind;
  path: string;
  subjects: number;
}

const TIME = /^\d{4}-\d\d-\d\d[T ]/;

function movedFacts(matches: readonly NewMatch[]): MovedFact[] {
  const moved = new Map<string, { kind: SubjectKind; path: string; ids: Set<string> }>();
  for (const { subject, facts } of matches) {
    for (const [path, value] of Object.entries(facts)) {
      const key = canonicalJson([subject.kind, path, way(value)]);
      const known = moved.get(key) ?? { kind: subject.kind, path, ids: new Set() };
      moved.set(key, known);
      known.ids.add(subject.id);
    }
  }
  return [...moved.values()].map(({ kind, path, ids }) => ({ kind, path, subjects: ids.size }));
}

/** Amounts and times differ from subject to subject, however they move. */
function way(value: Fact): Fact {
  const isAmount = typeof value === 'number' || typeof value === 'bigint';
  return isAmount || (typeof value === 'string' && TIME.test(value)) ? null : value;
}

/** In how many subjects a fact may move before the trust gate would refuse the whole list for it. */
function movedAllowed(
  { kind }: MovedFact,
  sources: Record<Source, SourceReading>,
  { movedPoints, movedRecords }: Pick<TrustSettings, 'movedPoints' | 'movedRecords'>,
): number {
  return Math.max(movedRecords, Math.floor((movedPoints / 100) * sources[SOURCE_OF[kind]].count));
}

// What counts together with a look: the last whole run and everything since.

/** One fact moves the same way in more subjects than these: the trust gate is asked about the whole list. */
const MOVED_MAX = 10;

async function countedWith(
  { store }: Pick<Engine, 'store'>,
  { whole }: Standing,
  records: Readonly<Record<SubjectKind, readonly Facts[]>>,
  pulled: PulledSnapshot,
): Promise<Part> {
  const read = new Set(
    Object.entries(records).flatMap(([kind, all]) =>
      all.map((record) => `${kind} ${summaryOf(kind as SubjectKind, record).id}`),
    ),
  );
  // Without a match nothing is weighed.
  const hasMatch = pulled.judgements.some(({ matches }) => matches.length > 0);
  return {
    sinceSeq: whole.seq,
    counted: hasMatch ? await store.countedSince(whole.seq, COUNTED_REASONS) : [],
    attempts: await store.attemptsOfRun(whole.id),
    hasRead: ({ kind, id }) => read.has(`${kind} ${id}`),
  };
}

/**
 * Why the whole list has to be read first; undefined: it does not. After the extra whole run of a period the trust gate has seen the list: then
 * as many subjects may still move as it would let pass.
 */
async function movedTooFar(
  { store, settings }: Pick<Engine, 'store' | 'settings'>,
  { whole }: Standing,
  { judgements }: PulledSnapshot,
  { episodes }: OpenState,
  mayStartWhole: boolean,
): Promise<string | undefined> {
  const open = new Set(episodes.flatMap((one) => (one.state === 'closed' ? [] : [`${one.rule} ${one.subject.id}`])));
  const fresh = judgements.flatMap(({ matches }) =>
    matches.flatMap(({ rule, summary, facts }): NewMatch[] =>
      open.has(`${rule} ${summary.id}`) ? [] : [{ subject: summary, facts }],
    ),
  );
  if (fresh.length === 0) return undefined;
  const moved = movedFacts([...fresh, ...(await store.newMatchesSince(whole.seq, whole.startedAt))]);
  const { sources } = whole.findings.snapshot;
  const allowed = (one: MovedFact) => (mayStartWhole ? MOVED_MAX : movedAllowed(one, sources, settings.trust));
  const tooFar = moved.find((one) => one.subjects > allowed(one));
  return tooFar && `${tooFar.path} has moved the same way in ${tooFar.subjects} subjects since run ${whole.seq}`;
}

/** More than these are a matter for a whole run. */
const SUBJECTS_MAX = 200;
/** Records of these subjects: a serial number of more devices than any has is nobody's. */
const LOOK_RECORDS_MAX = 1_000;
/** The server sends its time in whole seconds. */
const TIME_MARGIN_MS = 2_000;

/** New events, with what is to be decided of them. */
interface Looked {
  result: 'looked';
  figures: LookFigures;
  standing: Standing;
  atMs: number;
  observed: ObservedEvents;
  /** Undefined: they name nobody whom a rule of the look judges. */
  judged: { pulled: PulledSnapshot; openState: OpenState; part: Part } | undefined;
}

type LookFigures = Omit<WatchLook, 'result' | 'run' | 'reason'>;

/** What reading the event log takes. */
interface LogEngine extends Pick<Engine, 'api' | 'clock'> {
  store: Pick<Engine['store'], 'coverage' | 'eventTimes' | 'lastWholeRun' | 'hasNewSignals'>;
  settings: Pick<Engine['settings'], 'events' | 'trust'>;
}

async function readNew(
  { api, clock, store, settings: { events, trust } }: LogEngine,
  whole: JudgedRun,
  nowMs: number,
  asksForServices: boolean,
): Promise<PulledEvents> {
  const last = coverageOf(await store.coverage()).at(-1)?.toMs;
  const fromMs = readUntil(whole, last, nowMs + events.overlapMs) - events.overlapMs;
  const known = await store.eventTimes(fromMs);
  return lookAtEvents({ api, clock, nowMs, fromMs, known, asksForServices, trust, settings: events });
}

/**
 * The watermark: how far the log was read. A whole run that reads no log has read the subjects instead. A stretch that ends in the future was
 * read by a clock that was wrong.
 */
function readUntil(whole: JudgedRun, last: number | undefined, latestMs: number): number {
  if (last === undefined || last > latestMs) return whole.startedAt;
  return readNoLog(whole) ? Math.max(last, whole.startedAt) : last;
}

function readNoLog({ findings }: JudgedRun): boolean {
  return findings.snapshot.sources.events.state === 'skipped';
}

/**
 * Whether a look would do nothing, since nothing is new: it can be asked without rules, and without the right to act. False where that cannot be
 * told, as where the log was not read well. Errors: as look.
 */
export async function isQuiet(engine: LogEngine, memory: LooksMemory): Promise<boolean> {
  memory.whole = await engine.store.lastWholeRun(memory.whole);
  const { whole } = memory;
  if (whole?.findings === undefined) return false;
  const { events, reading } = await readNew(
    engine,
    { ...whole, findings: whole.findings },
    engine.clock.nowMs(),
    false,
  );
  return reading.trusted && events.length === 0 && !(await engine.store.hasNewSignals());
}

/** Errors: AppError `api_refused` (401), `stopped`, `store_failed`. */
export async function look(engine: Engine, request: WatchRequest): Promise<Looked | WatchLook> {
  const found = await standing(engine, request);
  const figures: LookFigures = { events: 0, named: 0, read: 0, strangers: 0, unread: 0 };
  if ('code' in found) return { result: 'rest', ...figures, run: undefined, reason: found };
  return new Look(engine, request, found, figures).look();
}

class Look {
  private readonly atMs: number;

  constructor(
    private readonly engine: Engine,
    private readonly request: WatchRequest,
    private readonly standing: Standing,
    private readonly figures: LookFigures,
  ) {
    this.atMs = engine.clock.nowMs();
  }

  async look(): Promise<Looked | WatchLook> {
    const { standing, figures } = this;
    const isOfServices = ({ subject, sources }: Rule) => subject === 'service' && sources.includes('events');
    const seen = await readNew(this.engine, standing.whole, this.atMs, standing.rules.rules.some(isOfServices));
    const { state, trusted, reasons } = seen.reading;
    const reason = reasons.map(({ text }) => text).join('; ');
    const signals = await this.engine.store.newSignals();
    const isForbidden = state === 'unavailable';
    if (isForbidden) standing.memory.forbiddenAfter = standing.whole.id;
    // Signals are judged also where the platform shows no log.
    if (isForbidden && signals.events.length === 0) return this.over('rest', 'events_forbidden', reason);
    if (!trusted && !isForbidden) return this.whole('source_failed', reason);
    if (seen.events.length + signals.events.length === 0)
      return { result: 'nothing', ...figures, run: undefined, reason: undefined };
    const fresh = [...seen.events.filter((event) => this.isAfterWhole(event)), ...signals.events];
    const { rules, evaluator } = standing.rules;
    const kinds = new Set(rules.map(({ subject }) => subject));
    const ids = new Set(rules.map(({ id }) => id));
    const named = namedSubjects(fresh, (kind) => kinds.has(kind));
    const joined = namedSubjects(fresh, (kind, event) => kind !== 'service' && evaluator.countsFor(kind, event, ids));
    const oldest = fresh.reduce((least, { createdAtMs }) => Math.min(least, createdAtMs), Number.POSITIVE_INFINITY);
    Object.assign(figures, {
      events: fresh.length,
      named: new Set([...namesOf(named), ...namesOf(joined)]).size,
      ...(fresh.length > 0 && { oldestEventAt: oldest }),
    });
    if (figures.named > SUBJECTS_MAX) return this.whole('many_subjects', `new events name ${figures.named} subjects`);
    try {
      return await this.judge(seen, signals, named, joined);
    } catch (error) {
      if (!isOfReading(error)) throw error;
      figures.unread = figures.named - figures.strangers;
      return this.whole('source_failed', lineOf(error));
    }
  }

  private wholeReadNoLog(): boolean {
    return readNoLog(this.standing.whole);
  }

  /** What came before a whole run that reads no log is not new: it read every subject as it was after that. */
  private isAfterWhole({ createdAtMs }: TrustEvent): boolean {
    const serverAheadMs = this.engine.api.skewMs() ?? 0;
    return !this.wholeReadNoLog() || createdAtMs >= this.standing.whole.startedAt + serverAheadMs - TIME_MARGIN_MS;
  }

  private async judge(
    seen: PulledEvents,
    signals: NewSignals,
    own: NamedSubjects,
    joined: NamedSubjects,
  ): Promise<Looked | WatchLook> {
    const { engine, standing, figures, atMs } = this;
    const begun = engine.steady.read();
    const lookups = boundedLookups(engine.api);
    const { named, strangers: others } = await withJoined(lookups, engine.store, own, joined);
    const concerned = namesOf(named).size;
    if (concerned > SUBJECTS_MAX) return this.whole('many_subjects', `new events concern ${concerned} subjects`);
    const { records, strangers } = await readNamed(lookups, engine.store, named);
    Object.assign(figures, { strangers: strangers + others, read: Object.values(records).flat().length });
    if (figures.read > LOOK_RECORDS_MAX) return this.whole('many_subjects', `new events name ${figures.read} records`);
    const looked = { result: 'looked', figures, standing, atMs, observed: await this.observe(seen, signals) } as const;
    if (figures.read === 0) return { ...looked, judged: undefined };
    const ofLog = seen.coverage ? [seen.coverage] : [];
    const coverage = [...(await engine.store.coverage()), ...ofLog, ...signals.coverage];
    const events = { ...seen.reading, count: seen.events.length };
    const given = { engine, lookups, standing, nowMs: atMs, begun, records, fresh: seen.events, events, coverage };
    const { pulled, openState } = await partSnapshot(given);
    const moved = await movedTooFar(engine, standing, pulled, openState, this.request.mayStartWhole);
    if (moved !== undefined) return this.whole('fact_moved', moved);
    return { ...looked, judged: { pulled, openState, part: await countedWith(engine, standing, records, pulled) } };
  }

  /**
   * The windows have them from now on, and the store when the look is committed. If it is not, the next one reads them again: an id counts
   * once.
   */
  private async observe(pulled: PulledEvents, signals: NewSignals): Promise<ObservedEvents> {
    const { engine, atMs, standing } = this;
    const { evaluator } = standing.rules;
    const windowMs = countedMs(evaluator.needs);
    if (!engine.feed.primed.has(evaluator)) await fillWindows(engine, evaluator, atMs - windowMs);
    evaluator.observe([...pulled.events, ...signals.events]);
    return { ...observedEvents(engine, pulled, atMs, windowMs), signals };
  }

  private whole(code: WholeReason, text: string): WatchLook {
    return this.over(this.request.mayStartWhole ? 'whole' : 'rest', code, text);
  }

  private over(result: 'whole' | 'rest', code: WholeReason | RestReason, text: string): WatchLook {
    return { result, ...this.figures, run: undefined, reason: { code, text } };
  }
}

/** Of single records. A refused credential and the end of the process are not: they end the look. */
function isOfReading(error: unknown): error is AppError {
  return error instanceof AppError && ['api_unreachable', 'api_forbidden', 'api_answer'].includes(error.code);
}

// Hands what a run saw, and what its decisions rest on, to the history. In: the input of deciding, the snapshot, what
// was committed. Out: nothing; it is recorded meanwhile. INVARIANT: it never stops a run, and runs that were not
// committed are not recorded.

export async function keepHistory(
  engine: Engine,
  run: Run,
  rules: RunRules,
  pulled: PulledSnapshot,
  input: DecideInput,
  commit: Pick<RunCommit, 'decisions' | 'endedDecisions'>,
): Promise<void> {
  const { history, store, log } = engine;
  if (!history) return;
  try {
    const seen = seenRun(engine, run, rules, pulled, input, commit, await store.lastEventNo());
    // A turn of its own: what a run decided on ten thousand subjects takes a while to commit, and to hand over.
    await giveWay();
    history.record(seen);
    await giveWay();
  } catch (error) {
    log.warn({ run: run.id }, `the run could not be recorded in the history: ${lineOf(error)}`);
  }
}

function seenRun(
  engine: Pick<Engine, 'api' | 'settings' | 'silence'>,
  run: Run,
  { hash, files = new Map() }: RunRules,
  pulled: PulledSnapshot,
  input: DecideInput,
  commit: Pick<RunCommit, 'decisions' | 'endedDecisions'>,
  eventsTo: number,
): SeenRun {
  const { lists = 'v1', trust } = engine.settings;
  const { sources } = pulled.snapshot;
  const { settings, steady, quietMs, freeze, judged, unjudged, activeRules, bundles, openState } = input;
  const { ceilings, goneAfterMs, serialDevicesMax, perDayTimes, placeholderSerials, credential } = settings;
  const isSame = SOURCES.every((source) => input.sources[source] === sources[source]);
  return {
    frame: {
      run,
      steady,
      quietMs,
      freeze,
      settings: {
        ...{ ceilings, goneAfterMs, serialDevicesMax, perDayTimes, placeholderSerials, credential, lists },
        trust: { ...trust },
      },
      ...(pulled.view.given && { given: pulled.view.given }),
      activeRules: [...activeRules.keys()],
      judged: judged.map(({ id }) => id),
      unjudged: unjudged.map(({ id }) => id),
      sources,
      decidedOn: isSame ? undefined : input.sources,
      coverage: pulled.view.coverage,
      unavailable: [...pulled.view.unavailable],
      bundles,
      ownReads: input.ownReads,
      namedActs: namedActsOf(input),
      eventsTo,
      part: partOf(input, pulled),
      silentSince: engine.silence?.since ?? null,
    },
    seen: pulled.seen,
    openState,
    written: commit.decisions,
    ended: commit.endedDecisions,
    ruleSet: { hash, files },
    isClockRight: isClockRight(engine),
  };
}

/** Who it was changes nothing, and records of people can be removed from the history only where they are rows of their own. */
function namedActsOf({ namedActs = [] }: DecideInput): readonly NamedAct[] | undefined {
  return namedActs.length === 0 ? undefined : namedActs.map(({ by, ...act }) => act);
}

function partOf({ part }: DecideInput, { read = [], joined = [] }: PulledSnapshot): RecordedPart | undefined {
  if (!part) return undefined;
  const { sinceSeq, counted, attempts, isCheck } = part;
  return { sinceSeq, counted, attempts, read, joined, ...(isCheck && { isCheck }) };
}
