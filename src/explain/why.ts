// explain: everything that a person asks about one subject: its state now and who made it so, what is in force, waiting, unfinished or
// exempt, and the verdict of each rule now. In: an identity, the store, the platform. Out: data; why-next.ts has what follows from
// it. Reads only, each record once; what cannot be read now is named, and the rest is answered.
import { Exemptions, partiesOfRecords } from '../decide/exemptions.ts';
import type { Episode } from '../domain/episode.ts';
import { AppError, lineOf } from '../domain/errors.ts';
import type { Explanation } from '../domain/explanation.ts';
import { type Facts, isFacts, ownTexts } from '../domain/facts.ts';
import type { HistoryLine } from '../domain/history.ts';
import type { Identity, IdentityReader } from '../domain/identity.ts';
import { type Intent, isDone } from '../domain/intent.ts';
import type { RecordReader } from '../domain/record-reader.ts';
import { demandOne, resolveName } from '../domain/resolve-name.ts';
import { resolveSubject } from '../domain/resolve-subject.ts';
import { withoutSecrets } from '../domain/secrets.ts';
import type { OpenState } from '../domain/store.ts';
import type { SubjectRef } from '../domain/subjects.ts';
import { summaryOf } from '../domain/target.ts';
import type { WaitingIntent, Why, WhyAnswer, WhyRule } from '../domain/why.ts';
import type { LoadedRule } from '../evaluate/index.ts';
import { dropSecrets } from '../pull/secrets.ts';
import { boundedLookups, ownersOf } from '../run/single-reads.ts';
import { type HistoryAbout, type HistoryReader, historyOf } from './history-of.ts';
import { decideNow, type ExplainDeps, type JudgedSubject, judgeSubject } from './judge-subject.ts';
import { readLastReadings } from './last-runs.ts';
import { readingOnce } from './read-once.ts';
import { readSubject } from './read-subject.ts';
import { nextOf, waysOutOf } from './why-next.ts';
import { readStates } from './why-state.ts';

export type WhyReader = ExplainDeps['reader'] &
  Pick<RecordReader, 'intents' | 'plans' | 'plan' | 'run' | 'exemptions' | 'stop'> &
  IdentityReader &
  HistoryReader;

export interface WhyDeps extends ExplainDeps {
  reader: WhyReader;
}

const HISTORY_MAX = 50;
const PLANS_MAX = 50;
const DEVICES_MAX = 10;

/**
 * `of`: a subject, or any name of one. Errors: AppError `not_found`, `usage` for a name of several, and those of the store. What the
 * platform does not answer is in `unread`.
 */
export async function whyOf(given: WhyDeps, of: string | SubjectRef): Promise<WhyAnswer> {
  const deps = onceOf(given);
  const { reader } = deps;
  const subject =
    typeof of === 'string'
      ? demandOne(await resolveName(reader, of), of).subjects[0]
      : await resolveSubject(reader, of);
  const why = await whySubject(deps, subject);
  return { ...why, next: nextOf(why), commands: waysOutOf(why) };
}

/** The same, without asking the platform: what the store alone knows. `unread`: why it was not asked. */
export async function whyStored(given: WhyDeps, of: SubjectRef, unread: string): Promise<WhyAnswer> {
  const refuse = async () => {
    throw new AppError('api_unreachable', unread);
  };
  const api = new Proxy(given.api, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? refuse : value;
    },
  });
  return whyOf({ ...given, api }, of);
}

/** What happened to it, newest first; see `historyOf`. */
export async function historyOfSubject(
  { reader, clock }: Pick<WhyDeps, 'reader' | 'clock'>,
  subject: Pick<Identity, 'kind' | 'id' | 'serial'>,
  limit: number,
): Promise<HistoryLine[]> {
  return historyOf(reader, aboutOf(subject), { limit, nowMs: clock.nowMs() });
}

async function whySubject(deps: WhyDeps, subject: Identity): Promise<Why> {
  const { reader, clock } = deps;
  const atMs = clock.nowMs();
  const own = new Set([subject.id, ...(subject.serial === '' ? [] : [subject.serial])]);
  const open = await reader.openStateOf(atMs, {
    kinds: [subject.kind],
    subjects: [subject.id],
    targets: [...own],
  });
  const read = await readRecords(deps, subject);
  const { rules, judgedAtMs } = await judgedBy(deps, subject, read.unread, open.episodes);
  return {
    subject,
    at: judgedAtMs ?? atMs,
    unread: read.unread,
    devices: await devicesWith(deps, subject, read.records),
    states: await readStates(deps, subject),
    claims: open.claims.filter(({ target, subjectId }) => own.has(target) || subjectId === subject.id),
    waiting: await waitingFor(reader, own, subject),
    unfinished: unfinishedOn(deps, open, own, subject.id),
    ...(await exemptionFor(deps, subject, read.records, atMs)),
    stop: await reader.stop(),
    rules,
    record: recordOf(read, subject),
    history: await historyOfSubject(deps, subject, HISTORY_MAX),
  };
}

function aboutOf({ kind, id, serial }: Pick<Identity, 'kind' | 'id' | 'serial'>): HistoryAbout {
  return kind === 'device' && serial !== '' ? { target: serial } : { subjectId: id };
}

function unfinishedOn({ actions }: WhyDeps, { intents }: OpenState, own: ReadonlySet<string>, id: string): Intent[] {
  return intents.filter(
    (intent) =>
      (own.has(intent.target) || intent.basis.some(({ subjectId }) => subjectId === id)) &&
      actions.get(intent.action)?.changesFleet !== false &&
      intent.status !== 'withdrawn' &&
      !isDone(intent),
  );
}

/** Every rule asks for the same records: each is read once. */
function onceOf(deps: WhyDeps): WhyDeps {
  const { api, reader } = deps;
  return {
    ...deps,
    api: readingOnce(api, ['devicesOfSerial', 'device', 'user', 'service', 'events', 'countEvents', 'listBundles']),
    reader: readingOnce(reader, ['clockAgreement', 'runsOverLists', 'latestRun', 'baseline', 'coverage']),
  };
}

/** For people: also without what looks like a secret. */
function recordOf({ records, unread }: ReadRecords, { kind, id }: Identity): Facts | undefined {
  if (unread !== undefined) return undefined;
  const own = records.find((record) => summaryOf(kind, record).id === id);
  const { value } = own ? withoutSecrets(dropSecrets(own, new Set())) : { value: undefined };
  return isFacts(value) ? value : undefined;
}

interface ReadRecords {
  records: Facts[];
  unread: string | undefined;
}

/** The records that exemptions are about. Of a subject that cannot be read, what is known of it. */
async function readRecords(deps: WhyDeps, subject: Identity): Promise<ReadRecords> {
  const lookups = boundedLookups(deps.api);
  try {
    const shared = subject.serial === '' ? [] : await lookups.devicesOfSerial(subject.serial);
    if (shared.length > 0) return { records: shared, unread: undefined };
    return { records: [await readSubject(lookups, deps.reader, subject.kind, subject.id)], unread: undefined };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { records: [knownOf(subject)], unread: lineOf(error) };
  }
}

function knownOf({ kind, id, serial, name, platform, model, owners }: Identity): Facts {
  switch (kind) {
    case 'device':
      return {
        DeviceID: id,
        SerialNumber: serial,
        DeviceFriendlyName: name,
        Platform: platform,
        Model: model,
        Emails: [...(owners ?? [])],
      };
    case 'user':
      return { Email: id, Name: name };
    case 'service':
      return { ServiceID: id, ServiceName: name };
  }
}

async function exemptionFor(
  deps: WhyDeps,
  subject: SubjectRef & { serial: string },
  records: readonly Facts[],
  nowMs: number,
): Promise<Pick<Why, 'exemption' | 'joined'>> {
  const exemptions = new Exemptions(await deps.reader.exemptions(nowMs), nowMs);
  const owners = exemptions.asksForOwnerRecords ? await ownersOf(deps.api, records).catch(() => new Map()) : new Map();
  const { exemption, joined } = exemptions.protecting(partiesOfRecords(records, owners), [subject]);
  return { exemption, joined: joined?.exemption };
}

/** A user's record names serial numbers; where it does not, the devices of which the user was seen as owner. */
async function devicesWith(deps: WhyDeps, subject: Identity, records: readonly Facts[]): Promise<Why['devices']> {
  const names = { device: subject.serial === '' ? [] : [subject.serial], user: [subject.id], service: [] }[
    subject.kind
  ];
  const serials = subject.kind === 'user' ? records.flatMap((user) => ownTexts(user, 'SerialNumbers') ?? []) : [];
  const found = new Map<string, Identity>();
  for (const name of [...names, ...serials].slice(0, DEVICES_MAX)) {
    for (const { identity, by } of await deps.reader.identitiesNamed(name)) {
      const isOther = identity.kind === 'device' && identity.id !== subject.id && (by === 'serial' || by === 'owner');
      if (isOther) found.set(identity.id, identity);
    }
  }
  const devices: Why['devices'] = [];
  for (const identity of [...found.values()].slice(0, DEVICES_MAX))
    devices.push({ identity, states: subject.kind === 'user' ? await readStates(deps, identity) : [] });
  return devices;
}

async function waitingFor(reader: WhyReader, own: ReadonlySet<string>, subject: Identity): Promise<WaitingIntent[]> {
  const waiting: WaitingIntent[] = [];
  for (const status of ['pending', 'approved', 'interrupted'] as const) {
    for (const { id, expiresAt, mode, intents } of await reader.plans({ status, naming: [...own] }, PLANS_MAX)) {
      if (mode === 'dry-run') continue;
      for (const { action, target, basis, reasonText } of intents) {
        if (!own.has(target) && !basis.some(({ subjectId }) => subjectId === subject.id)) continue;
        const rules = [...new Set(basis.map(({ rule }) => rule))];
        waiting.push({ plan: id, status, expiresAt, action, target, rules, reasonText });
      }
    }
  }
  return waiting;
}

/** All rules of its kind are judged and decided together: each counts for the others, as in a run. */
async function judgedBy(
  deps: WhyDeps,
  { kind, id }: Identity,
  unread: string | undefined,
  episodes: readonly Episode[],
): Promise<{ rules: WhyRule[]; judgedAtMs?: number }> {
  const rules = deps.rules.filter(({ subject }) => subject === kind);
  if (rules.length === 0) return { rules: [] };
  const judged = unread === undefined ? await judgedOr(deps, rules, kind, id) : unread;
  if (typeof judged === 'string') {
    const none = { verdict: undefined, reason: judged, flip: undefined, decisions: [] };
    return { rules: rules.map((rule) => ({ ...headOf(rule), ...none })) };
  }
  const sources = await readLastReadings(deps.reader, judged);
  const { decisions } = await decideNow(deps, rules, judged, sources);
  const judgedRules = rules.map((rule, at) => {
    const { verdict, reason, flips } = judged.explanations[at] as Explanation;
    const own = decisions.filter((decision) => decision.rule === rule.id);
    const clearing = episodes.find(({ rule: id, state }) => id === rule.id && state === 'clearing');
    const since = verdict === 'no_match' && rule.revert ? clearing?.stateSince : undefined;
    const until = since !== undefined && { clearing: { since, until: since + rule.clearForMs } };
    return { ...headOf(rule), verdict, reason, flip: flips[0], decisions: own, ...until };
  });
  return { rules: judgedRules, judgedAtMs: judged.nowMs };
}

function headOf({ id, title, mode, revert }: LoadedRule): Pick<WhyRule, 'rule' | 'title' | 'mode' | 'revert'> {
  return { rule: id, title, mode, revert };
}

/** Why it could not be judged, when the platform does not answer. */
async function judgedOr(...asked: Parameters<typeof judgeSubject>): Promise<JudgedSubject | string> {
  try {
    return await judgeSubject(...asked);
  } catch (error) {
    if (error instanceof AppError) return lineOf(error);
    throw error;
  }
}
