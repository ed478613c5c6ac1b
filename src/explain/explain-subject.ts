// explain: why a rule says what it says about one subject, read now, and what decide would do about it. Changes nothing.
// In: a rule and a subject's id (a device's serial number is understood too). Out: the explanation and decide's answer, and as
// of which run it knows what one subject alone cannot tell: whether its list is trusted, and who else matches.
import { readBundles } from '../act/actions/bundle-membership.ts';
import { decide } from '../decide/decide.ts';
import { Exemptions } from '../decide/exemptions.ts';
import type { Action, ActionName } from '../domain/action.ts';
import { type Bundles, MEMBERSHIP } from '../domain/bundles.ts';
import type { Decision } from '../domain/decision.ts';
import { AppError } from '../domain/errors.ts';
import { type Facts, ownText, ownTexts } from '../domain/facts.ts';
import type { Mode } from '../domain/mode.ts';
import type { Api, Clock, Ids } from '../domain/ports.ts';
import type { PullReader } from '../domain/pull-store.ts';
import type { OpenStateReader } from '../domain/run-store.ts';
import type { SourceReading } from '../domain/snapshot.ts';
import type { OpenState } from '../domain/store.ts';
import type { Source } from '../domain/subjects.ts';
import { summaryOf } from '../domain/target.ts';
import { compileRules, type Explanation, explain, type LoadedRule } from '../evaluate/index.ts';
import { FleetIndex } from '../pull/fleet-index.ts';
import { dropSecrets } from '../pull/secrets.ts';
import type { EngineSettings } from '../run/engine.ts';
import { deletesMappings } from '../run/exemption-needs.ts';
import { ownersOf } from '../run/exemption-of.ts';
import type { JudgeView } from '../run/pulled-snapshot.ts';
import { type BasisReader, type ExplainBasis, earlier } from './explain-basis.ts';
import { joinedFleet, judgementsAmong, type OpenMatches, openMatches } from './open-matches.ts';
import { type ReadEvents, readEvents } from './read-events.ts';

export interface ExplainDeps {
  api: Api;
  reader: BasisReader & OpenStateReader & Pick<PullReader, 'coverage' | 'events'>;
  clock: Clock;
  ids: Ids;
  actions: ReadonlyMap<ActionName, Action>;
  rules: readonly LoadedRule[];
  daemonMode: Mode;
  settings: Pick<EngineSettings, 'decide' | 'trust' | 'events'>;
}

/** What decide would say of a match, or of a trouble that is over: one for each action and target. */
export type WouldDecide = Pick<
  Decision,
  'action' | 'target' | 'decision' | 'reason' | 'reasonText' | 'mode' | 'effect'
>;

export interface ExplainedSubject {
  explanation: Explanation;
  decisions: WouldDecide[];
  basis: ExplainBasis;
}

/** What was read for one answer. */
interface Look {
  rule: LoadedRule;
  record: Facts;
  nowMs: number;
  view: JudgeView & { windowsAtMs: number | undefined };
  events: ReadEvents | undefined;
  sources: Record<Source, SourceReading>;
}

/** Errors: AppError `not_found` for a rule or subject that is not there, and those of reading the API. */
export async function explainSubject(deps: ExplainDeps, ruleId: string, subjectId: string): Promise<ExplainedSubject> {
  const rule = deps.rules.find((loaded) => loaded.id === ruleId);
  if (!rule) {
    const known = deps.rules.map(({ id }) => id).join(', ');
    throw new AppError('not_found', `there is no rule \`${ruleId}\`: loaded are ${known}`);
  }
  const record = await readSubject(deps.api, rule, subjectId);
  const nowMs = deps.clock.nowMs();
  const events = rule.sources.includes('events') ? await eventsNow(deps, rule, nowMs) : undefined;
  const view = { ...(await viewOf(deps, rule, record, events)), windowsAtMs: events?.atMs };
  const { basis, sources } = await earlier(deps.reader, rule, events, nowMs);
  const readAtMs = { devices: nowMs, users: nowMs, services: nowMs, events: events?.atMs };
  const explanation = explain(rule, record, { ...view, nowMs, events: events?.events ?? [], readAtMs });
  return { explanation, decisions: await wouldDecide(deps, { rule, record, nowMs, view, events, sources }), basis };
}

async function readSubject(api: Api, rule: LoadedRule, id: string): Promise<Facts> {
  const record = await readRecord(api, rule, id);
  if (!record) throw new AppError('not_found', `there is no ${rule.subject} \`${id}\` at ${api.address}`);
  return dropSecrets(record, new Set());
}

async function readRecord(api: Api, rule: LoadedRule, id: string): Promise<Facts | undefined> {
  if (rule.subject === 'service') return api.service(id);
  if (rule.subject === 'user') return api.user(id);
  const ofSerial = await api.devicesOfSerial(id);
  if (ofSerial.length > 0) return ofSerial[0];
  // The API cannot be asked for a DeviceID: the list is read until it comes by.
  for await (const batch of api.stream('devices')) {
    const found = batch.find((device) => ownText(device as Facts, 'DeviceID') === id);
    if (found) return found as Facts;
  }
  return undefined;
}

function eventsNow(deps: ExplainDeps, rule: LoadedRule, nowMs: number): Promise<ReadEvents> {
  const { windowMs } = compileRules([rule]).needs;
  return readEvents({ ...deps, nowMs, windowMs, asksForServices: rule.subject === 'service' });
}

/** What judging needs beside the record; a source that answers 403 is unavailable here as it is to a run. */
async function viewOf(
  { api }: ExplainDeps,
  rule: LoadedRule,
  record: Facts,
  events: ReadEvents | undefined,
): Promise<JudgeView> {
  const { owners, devices } = compileRules([rule]).needs;
  const unavailable = new Set<Source>(events?.reading.state === 'unavailable' ? ['events'] : []);
  const users = new Map<string, Facts>();
  const bySerial = new Map<string, Facts[]>();
  await noting(unavailable, 'users', async () => {
    for (const email of owners ? (ownTexts(record, 'Emails') ?? []) : []) {
      const user = await api.user(email);
      if (user) users.set(email.toLowerCase(), user);
    }
  });
  await noting(unavailable, 'devices', async () => {
    for (const serial of devices ? (ownTexts(record, 'SerialNumbers') ?? []) : [])
      bySerial.set(serial, await api.devicesOfSerial(serial));
  });
  return { joins: { users, devices: bySerial }, coverage: events?.coverage ?? [], unavailable };
}

async function noting(unavailable: Set<Source>, source: Source, read: () => Promise<void>): Promise<void> {
  try {
    await read();
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'api_forbidden') throw error;
    unavailable.add(source);
  }
}

/**
 * The same pure pipeline as a run: this subject as it was judged now, among the others as the last runs decided about them.
 * Nothing standing is carried, so that it answers.
 */
async function wouldDecide(deps: ExplainDeps, look: Look): Promise<WouldDecide[]> {
  const { rule, record, nowMs } = look;
  const openState = await deps.reader.openState(nowMs);
  const setBackMs = (await deps.reader.clockAgreement())?.setBackMs ?? nowMs;
  const { id } = summaryOf(rule.subject, record);
  const isOwn = (one: { rule: string; subject: { id: string } }) => one.rule === rule.id && one.subject.id === id;
  const judged = [rule, ...deps.rules.filter((other) => other.id !== rule.id && other.mode !== 'off')];
  const known = new Set(judged.map((one) => one.id));
  const inForce = openState.decisions.filter((decision) => known.has(decision.rule));
  const among = openMatches(inForce, deps.actions);
  const devices = await devicesOf(deps.api, rule, record);
  const owners = asksForOwners(rule, among) ? await ownersWhereTold(deps.api, devices) : undefined;
  markOwners(among, owners ?? new Map());
  const decided = decide({
    runMode: deps.daemonMode,
    daemonMode: deps.daemonMode,
    nowMs,
    // It asks nobody for how long: the wall clock's word is enough to explain.
    steady: { nowMs, sinceMs: Number.NEGATIVE_INFINITY, forMs: 0, jumpedMs: nowMs, setBackMs },
    judged,
    unjudged: [],
    activeRules: new Set(deps.rules.map((one) => one.id)),
    traits: deps.actions,
    judgements: judgementsAmong(judgeNow(look), among, id),
    sources: look.sources,
    fleet: joinedFleet(fleetOf(devices), among.devices, owners && serialsByOwner(owners)),
    bundles: await bundlesOf(deps, rule),
    openState: { ...openState, decisions: [] },
    said: inForce,
    exemptOwners: await exemptOwnersOf(deps, openState, devices, nowMs),
    ids: deps.ids,
    settings: deps.settings.decide,
  });
  return decided.decisions.filter(isOwn).map(({ action, target, decision, reason, reasonText, mode, effect }) => ({
    action,
    target,
    decision,
    reason,
    reasonText,
    mode,
    effect,
  }));
}

function judgeNow({ rule, record, nowMs, view, events }: Look) {
  const evaluator = compileRules([rule]);
  evaluator.observe(events?.events ?? []);
  const judge = evaluator.judge(rule.subject, { ...view, nowMs, isOpen: () => true });
  judge.accept(record);
  return judge.finish();
}

/** All devices that an action on this subject would touch, or names. */
async function devicesOf(api: Api, rule: LoadedRule, record: Facts): Promise<readonly Facts[]> {
  if (rule.subject === 'user') return deletesMappings(rule) ? devicesOfUser(api, record) : [];
  if (rule.subject !== 'device') return [];
  const devices = await api.devicesOfSerial(ownText(record, 'SerialNumber') ?? '');
  return devices.length > 0 ? devices : [record];
}

async function devicesOfUser(api: Api, record: Facts): Promise<Facts[]> {
  const devices: Facts[] = [];
  for (const serial of ownTexts(record, 'SerialNumbers') ?? []) devices.push(...(await api.devicesOfSerial(serial)));
  return devices;
}

function fleetOf(devices: readonly Facts[]): FleetIndex {
  const fleet = new FleetIndex();
  for (const device of devices) fleet.add(device);
  return fleet;
}

/**
 * No decision tells whose a device is: those who own this subject's say which of the others are theirs. Where users cannot be
 * read at all, it is asked of nobody.
 */
function markOwners({ devices: others }: OpenMatches, owners: ReadonlyMap<string, Facts>): void {
  for (const [email, owner] of owners) {
    for (const serial of ownTexts(owner, 'SerialNumbers') ?? [])
      for (const device of others.get(serial) ?? []) device.owners = [...(device.owners ?? []), email];
  }
}

function asksForOwners({ then }: LoadedRule, { devices: others }: OpenMatches): boolean {
  return others.size > 0 || then.some(({ action }) => action === 'delete_device');
}

async function ownersWhereTold(api: Api, devices: readonly Facts[]): Promise<Map<string, Facts> | undefined> {
  let owners: Map<string, Facts> | undefined;
  await noting(new Set(), 'users', async () => {
    owners = await ownersOf(api, devices);
  });
  return owners;
}

/** Which devices owners have, for what a deletion takes; undefined where one of the records does not say. */
function serialsByOwner(owners: ReadonlyMap<string, Facts>): Map<string, Set<string>> | undefined {
  const serials = new Map<string, Set<string>>();
  for (const [email, owner] of owners) {
    const told = ownTexts(owner, 'SerialNumbers');
    if (told === undefined) return undefined;
    serials.set(email, new Set(told));
  }
  return serials;
}

async function bundlesOf({ api, actions }: ExplainDeps, rule: LoadedRule): Promise<Bundles | undefined> {
  const asks = rule.then.some(({ action }) => actions.get(action)?.fieldWritten === MEMBERSHIP);
  return asks ? readBundles(api) : undefined;
}

/** Who owns a device decides whether it is exempt: owners' records are read when some exemption is about more than an address. */
async function exemptOwnersOf(
  { api }: ExplainDeps,
  { exemptions }: OpenState,
  devices: readonly Facts[],
  nowMs: number,
): Promise<Map<string, Facts>> {
  return new Exemptions(exemptions ?? [], nowMs).asksForOwnerRecords ? ownersOf(api, devices) : new Map();
}
