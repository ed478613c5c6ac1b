// explain: everything that a person asks about one subject: its state now and who made it so, what is in force, waiting, unfinished or
// exempt, and the verdict of each rule now. In: an identity, the store, the platform. Out: data, and what
// follows from it. Reads only, each record once; what cannot be read now is named, and the rest is answered.

import { shellWord } from '../../base/text.ts';
import { timeText } from '../../base/time.ts';
import { resolveSubject } from '../../domain/decision-filter.ts';
import type { Episode } from '../../domain/episode.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import { type Facts, isFacts, ownTexts } from '../../domain/facts.ts';
import { demandOne, type Identity, type IdentityReader, nameKey, resolveName } from '../../domain/identity.ts';
import { type Intent, isDone, isInDoubt, NEXT_OF_DOUBT, NEXT_OF_FAILURE } from '../../domain/intent.ts';
import { stopText } from '../../domain/operator.ts';
import { answerCommand } from '../../domain/plan.ts';
import { isLive } from '../../domain/rule.ts';
import { withoutSecrets } from '../../domain/secrets.ts';
import type { OpenState } from '../../domain/store.ts';
import type { RecordReader } from '../../domain/store-ports.ts';
import { type SubjectRef, summaryOf } from '../../domain/subjects.ts';
import type {
  DecidedNow,
  Explanation,
  HistoryLine,
  WaitingIntent,
  WayOut,
  Why,
  WhyAnswer,
  WhyRule,
} from '../../domain/why.ts';
import type { LoadedRule } from '../../rules/language/loaded-rule.ts';
import { Exemptions, partiesOfRecords } from '../decide/exemptions.ts';
import { dropSecrets } from '../pull/trust-gate.ts';
import { boundedLookups, ownersOf } from '../run/pulled-snapshot.ts';
import { type HistoryAbout, type HistoryReader, historyOf } from './history-of.ts';
import {
  decideNow,
  type ExplainDeps,
  type JudgedSubject,
  judgeSubject,
  readLastReadings,
  readStates,
  readSubject,
} from './judge-subject.ts';

/** A failed read is kept too: asking the platform again for each rule would only take longer. */
function readingOnce<T extends object>(port: T, methods: readonly (keyof T & string)[]): T {
  const kept = new Map<string, unknown>();
  const memoized = new Set<PropertyKey>(methods);
  return new Proxy(port, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (!memoized.has(name)) return value.bind(target);
      return (...args: unknown[]) => {
        const key = `${String(name)} ${JSON.stringify(args)}`;
        if (!kept.has(key)) kept.set(key, value.apply(target, args));
        return kept.get(key);
      };
    },
  });
}

// What happens to a subject by itself next, and the commands with which a person changes that.

/** Never empty. Names in it come from the platform: escape it where it is shown. */
function nextOf(why: Why): string[] {
  const lines = [
    ...(why.stop ? [`nothing is called until \`trustward resume\`: ${stopText(why.stop)}`] : []),
    ...why.unfinished.map(unfinishedLine),
    ...why.waiting.map(
      ({ action, target, plan, status, expiresAt }) =>
        `${action} ${target} waits in plan ${plan} (${status}) until ${timeText(expiresAt)}; then it expires, and the next run plans it again`,
    ),
    ...why.rules.flatMap((rule) => rule.decisions.flatMap((decision) => decisionLine(why, rule, decision))),
    ...claimLines(why),
    ...strangerLines(why),
    ...bannedOf(why).map(({ action, target }) => `${action} is in force on device ${target}`),
  ];
  if (why.unread !== undefined) lines.push(`no rule judges it: ${why.unread}`);
  return lines.length > 0 ? lines : ['nothing: no rule proposes an action, and none is in force'];
}

function unfinishedLine(intent: Why['unfinished'][number]): string {
  const { id, action, target, outcome, note } = intent;
  const why = note ? ` (${note})` : '';
  if (isInDoubt(intent))
    return `whether ${action} ${target} was done is not known${why}: ${NEXT_OF_DOUBT}, action ${id}`;
  if (outcome === 'parked') return `${action} ${target} waits for a person${why}: action ${id}`;
  if (outcome === 'failed') return `${action} ${target} failed${why}: ${NEXT_OF_FAILURE}, action ${id}`;
  return `${action} ${target} is under way, action ${id}`;
}

function decisionLine(why: Why, { rule, of, mode, verdict: judged }: WhyRule, decision: DecidedNow): string[] {
  const name = of === undefined ? rule : `${rule} about ${of}`;
  const { action, target, reason, reasonText, verdict, notAsked } = decision;
  if (mode === 'dry-run') return [`${name} only reports it, in mode dry-run`];
  switch (decision.decision) {
    case 'hold':
      if (reason === 'frozen') return [`${name}: ${action} ${target} waits: ${reasonText}`];
      return why.waiting.some((one) => one.action === action && one.target === target)
        ? []
        : [`${name}: ${action} ${target} would wait: ${reasonText}`];
    case 'skip':
      return SKIPS_THAT_PASS.has(reason) ? [`${name}: ${action} ${target} not yet: ${reasonText}`] : [];
    case 'act': {
      if (why.stop) return [];
      const cleared = judged === 'match' ? `of rule ${name}: ${reasonText}` : `since rule ${name} no longer matches`;
      const because = verdict === 'no_match' ? cleared : `by rule ${name}`;
      const unless = notAsked.length === 0 ? '' : ', if a whole run allows it';
      const does = isLive(decision.mode) ? 'the next run does' : 'a run of mode enforce would do';
      return [`${does} ${action} ${target}, ${because}${unless}`];
    }
  }
}

const SKIPS_THAT_PASS: ReadonlySet<string> = new Set([
  'for_not_reached',
  'cooldown',
  'outside_window',
  'rollout',
  'untrusted_source',
  'older_report',
]);

/** One line for each action on a target: it is undone when its last claim ends. Nothing of what a rule undoes now: that has a line. */
function claimLines({ claims, rules }: Why): string[] {
  const undone = new Set(
    rules.flatMap(({ decisions }) =>
      decisions.flatMap((one) =>
        one.verdict === 'no_match' && (one.decision !== 'skip' || one.reason === 'older_report') ? one.target : [],
      ),
    ),
  );
  const groups = new Map<string, Why['claims']>();
  for (const claim of claims) {
    const key = `${claim.action} ${claim.target}`;
    if (!undone.has(claim.target)) groups.set(key, [...(groups.get(key) ?? []), claim]);
  }
  return [...groups].map(([what, own]) => endOf(what, own, rules));
}

function endOf(what: string, claims: Why['claims'], rules: Why['rules']): string {
  const orphan = claims.find(({ status }) => status === 'orphaned');
  if (orphan)
    return `${what} stays: its rule ${orphan.rule} is missing or off, so a person or another rule has to undo it`;
  const lasting = claims.find((claim) => rules.some(({ rule, revert }) => rule === claim.rule && !revert));
  if (lasting) return `${what} stays: rule ${lasting.rule} has \`revert: false\`, so a person has to undo it`;
  const names = [...new Set(claims.map(({ rule }) => rule))];
  const subjects = new Set(claims.map(({ subjectId }) => subjectId));
  const { clearing, of } =
    rules.find((one) => one.rule === names[0] && subjects.has(one.of ?? '')) ??
    rules.find(({ rule }) => rule === names[0]) ??
    {};
  const whom = of === undefined ? '' : ` ${of}`;
  if (clearing && names.length === 1)
    return `${what} is undone after ${timeText(clearing.until)} if rule ${names[0]} does not match${whom} again before: it has not matched since ${timeText(clearing.since)}`;
  return names.length === 1
    ? `${what} is undone when rule ${names[0]} no longer matches${whom}`
    : `${what} is undone when none of the rules ${names.join(', ')} matches any more`;
}

/** What somebody else did stays. */
function strangerLines({ states, claims }: Why): string[] {
  return states.flatMap(({ action, target, isSo, isOwn }) =>
    isSo && !isOwn && !claims.some((claim) => claim.action === action && claim.target === target)
      ? [`Trustward does not undo ${action} ${target}: it did not do it`]
      : [],
  );
}

/** The devices of a user, with what is in force on them. */
function bannedOf({ devices }: Why): Why['states'] {
  return devices.flatMap(({ states }) => states.filter(({ isSo }) => isSo));
}

/** Each command once. */
function waysOutOf(why: Why): WayOut[] {
  const { claims, unfinished, exemption, joined } = why;
  const name = typed(why, why.subject.serial === '' ? why.subject.id : why.subject.serial);
  const exempt = `trustward exempt add ${name} --owner NAME --reason TEXT --until 30d`;
  const ways: WayOut[] = [];
  if (why.stop) ways.push({ purpose: 'let it act again', command: 'trustward resume --reason TEXT' });
  for (const target of new Set(claims.map((claim) => claim.target))) {
    ways.push({ purpose: 'undo it, and keep it so', command: `${exempt} --release` });
    const release = `trustward claims release ${typed(why, target)} --reason TEXT`;
    ways.push({ purpose: 'undo it, until a rule matches anew', command: release });
  }
  ways.push(...waysWaiting(why));
  for (const { id, outcome } of unfinished) {
    if (outcome === undefined) continue;
    ways.push({ purpose: 'try it again', command: `trustward intents resolve ${id} --as retry --reason TEXT` });
    ways.push({ purpose: 'give it up', command: `trustward intents resolve ${id} --as not-done --reason TEXT` });
  }
  for (const { identity } of why.devices.filter(({ states }) => states.some(({ isSo }) => isSo)))
    ways.push({ purpose: 'why it is so', command: `trustward why ${typed({ subject: identity }, identity.serial)}` });
  if (exemption)
    ways.push({ purpose: 'end the exemption', command: `trustward exempt end ${exemption.id} --reason TEXT` });
  else if (joined) {
    const confirm = `trustward exempt confirm ${joined.id} --subject ${name} --reason TEXT`;
    ways.push({ purpose: 'let the exemption cover it', command: confirm });
  } else if (claims.length === 0) ways.push({ purpose: 'protect it', command: exempt });
  const rule = why.rules.find(({ verdict }) => verdict === 'match') ?? why.rules[0];
  const judged = rule?.of === undefined ? name : typed(why, rule.of);
  if (rule) ways.push({ purpose: 'every fact of a rule', command: `trustward explain ${rule.rule} ${judged}` });
  return [...new Map(ways.map((way) => [way.command, way])).values()];
}

/** All of a plan that is about the subject is approved at once. */
function waysWaiting(why: Why): WayOut[] {
  return [...new Map(why.waiting.map((one) => [one.plan, one]))].flatMap(([plan, { status, digest }]) => {
    const glass = isFrozen(why) ? ' --break-glass --reason TEXT' : '';
    if (status !== 'pending') return [{ purpose: 'do it now', command: `trustward apply ${plan}${glass}` }];
    const own = why.waiting.filter((one) => one.plan === plan).map(({ target }) => typed(why, target));
    const approve = `${answerCommand('approve', { id: plan, digest })} --only ${[...new Set(own)].join(' ')}`;
    return [
      { purpose: 'approve only this', command: approve },
      ...(glass === ''
        ? []
        : [{ purpose: 'do only this now, through the change window', command: `${approve}${glass}` }]),
      { purpose: 'see the whole plan', command: `trustward plans ${plan}` },
    ];
  });
}

function isFrozen({ rules }: Why): boolean {
  return rules.some(({ decisions }) => decisions.some(({ reason }) => reason === 'frozen'));
}

const UNTYPED = /^-|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

/** A serial number that would be an option of the command, or cannot be typed, gives way to the id. */
function typed({ subject }: Pick<Why, 'subject'>, text: string): string {
  return shellWord(UNTYPED.test(text) ? subject.id : text);
}

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
const OWNERS_MAX = 10;

/**
 * `of`: a subject, or any name of one. Errors: AppError `not_found`, `usage` for a name of several, and those of the store. What the
 * platform does not answer is in `unread`.
 */
export async function whyOf(given: WhyDeps, of: string | SubjectRef): Promise<WhyAnswer> {
  const deps = onceOf(given);
  const { reader } = deps;
  const why = await whySubject(deps, await subjectNamed(reader, of));
  return { ...why, next: nextOf(why), commands: waysOutOf(why) };
}

/** `of`: as of `whyOf`. */
export async function subjectNamed(reader: WhyReader, of: string | SubjectRef): Promise<Identity> {
  if (typeof of !== 'string') return resolveSubject(reader, of);
  return demandOne(await resolveName(reader, of), of).subjects[0];
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
  const ofOwners = subject.kind === 'device' ? await judgedByOwners(deps, read, open, own) : [];
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
    rules: [...rules, ...ofOwners],
    record: recordOf(read, subject),
    history: await historyOfSubject(deps, subject, HISTORY_MAX),
  };
}

function aboutOf({ kind, id, serial }: Pick<Identity, 'kind' | 'id' | 'serial'>): HistoryAbout {
  return kind === 'device' && serial !== '' ? { target: serial } : { subjectId: id };
}

/** `own`: the names of its targets. */
export function unfinishedOn(
  { actions }: Pick<WhyDeps, 'actions'>,
  { intents }: Pick<OpenState, 'intents'>,
  own: ReadonlySet<string>,
  id: string,
): Intent[] {
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

function recordOf({ records, unread }: ReadRecords, { kind, id }: Identity): Facts | undefined {
  if (unread !== undefined) return undefined;
  const own = records.find((record) => summaryOf(kind, record).id === id);
  return own && shownRecord(dropSecrets(own, new Set()));
}

/** For people: also without what looks like a secret. */
export function shownRecord(record: Facts): Facts | undefined {
  const { value } = withoutSecrets(record);
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
    for (const { id, digest, expiresAt, mode, intents } of await reader.plans(
      { status, naming: [...own] },
      PLANS_MAX,
    )) {
      if (mode === 'dry-run') continue;
      for (const { action, target, basis, reasonText } of intents) {
        if (!own.has(target) && !basis.some(({ subjectId }) => subjectId === subject.id)) continue;
        const rules = [...new Set(basis.map(({ rule }) => rule))];
        waiting.push({ plan: id, digest, status, expiresAt, action, target, rules, reasonText });
      }
    }
  }
  return waiting;
}

/** All rules of its kind are judged and decided together: each counts for the others, as in a run. */
async function judgedBy(
  deps: WhyDeps,
  { kind, id }: SubjectRef,
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

/** The rules about the owners of a device that act on their devices: what they decide about this one. */
async function judgedByOwners(
  deps: WhyDeps,
  { records, unread }: ReadRecords,
  { claims }: Pick<OpenState, 'claims'>,
  own: ReadonlySet<string>,
): Promise<WhyRule[]> {
  const acting = new Set(deps.rules.filter(({ targets }) => targets.includes('devices')).map(({ id }) => id));
  if (acting.size === 0) return [];
  // Whose ban it is comes first: the device may have passed on.
  const claiming = claims.flatMap(({ rule, subjectId }) => (acting.has(rule) ? subjectId : []));
  const named = [...claiming, ...records.flatMap((device) => ownTexts(device, 'Emails') ?? [])];
  const owners = new Map(named.toReversed().map((email) => [nameKey(email), email]));
  const found: WhyRule[] = [];
  for (const of of [...owners.values()].toReversed().slice(0, OWNERS_MAX)) {
    const about = { kinds: ['user' as const], subjects: [of], targets: [...own] };
    const { episodes } = await deps.reader.openStateOf(deps.clock.nowMs(), about);
    const { rules } = await judgedBy(deps, { kind: 'user', id: of }, unread, episodes);
    for (const rule of rules.filter((one) => acting.has(one.rule)))
      found.push({ ...rule, of, decisions: rule.decisions.filter(({ target }) => own.has(target)) });
  }
  return found;
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
