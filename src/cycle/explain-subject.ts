// cycle: why a rule says what it says about one subject, read now, and what decide would do about it. Changes nothing.
// In: a rule and a subject's id (a device's serial number is understood too). Out: the explanation and decide's answer.
import { decide } from '../decide/decide.ts';
import { Exemptions } from '../decide/exemptions.ts';
import type { DecideSettings } from '../decide/input.ts';
import type { Action, ActionName } from '../domain/action.ts';
import type { Decision } from '../domain/decision.ts';
import { AppError } from '../domain/errors.ts';
import type { TrustEvent } from '../domain/event.ts';
import { type Facts, ownText, ownTexts } from '../domain/facts.ts';
import type { Mode } from '../domain/mode.ts';
import type { Api, Clock, Ids } from '../domain/ports.ts';
import type { SourceReading } from '../domain/snapshot.ts';
import type { Standing, StoreReader } from '../domain/store.ts';
import { SOURCES, type Source } from '../domain/subjects.ts';
import { cardOf } from '../domain/target.ts';
import { compileRules, type Explanation, explain, type LoadedRule } from '../evaluate/index.ts';
import { FleetIndex } from '../pull/fleet-index.ts';
import { skippedReading } from '../pull/pull-source.ts';
import { dropSecrets } from '../pull/secrets.ts';
import { ownersOf } from './exemption-of.ts';
import type { JudgeView } from './pulled-snapshot.ts';

export interface ExplainDeps {
  api: Api;
  reader: StoreReader;
  clock: Clock;
  ids: Ids;
  actions: ReadonlyMap<ActionName, Action>;
  rules: readonly LoadedRule[];
  daemonMode: Mode;
  settings: DecideSettings;
}

/** What decide would say of a match, or of a trouble that is over: one for each action and target. */
export type WouldDecide = Pick<
  Decision,
  'action' | 'target' | 'decision' | 'reason' | 'reasonText' | 'mode' | 'effect'
>;

export interface ExplainedSubject {
  explanation: Explanation;
  decisions: WouldDecide[];
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
  const view = await viewOf(deps, rule, record);
  const events = await eventsOf(deps.reader, nowMs - compileRules([rule]).needs.windowMs);
  const readAtMs = Object.fromEntries(SOURCES.map((source) => [source, source === 'events' ? undefined : nowMs]));
  const explanation = explain(rule, record, { ...view, nowMs, events, readAtMs });
  return { explanation, decisions: await wouldDecide(deps, rule, record, view, events, nowMs) };
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

async function viewOf({ api, reader }: ExplainDeps, rule: LoadedRule, record: Facts): Promise<JudgeView> {
  const { owners, devices } = compileRules([rule]).needs;
  const users = new Map<string, Facts>();
  for (const email of owners ? (ownTexts(record, 'Emails') ?? []) : []) {
    const user = await api.user(email);
    if (user) users.set(email.toLowerCase(), user);
  }
  const bySerial = new Map<string, Facts[]>();
  for (const serial of devices ? (ownTexts(record, 'SerialNumbers') ?? []) : []) {
    bySerial.set(serial, await api.devicesOfSerial(serial));
  }
  return { joins: { users, devices: bySerial }, coverage: await reader.coverage(), unavailable: new Set() };
}

async function eventsOf(reader: StoreReader, fromMs: number): Promise<TrustEvent[]> {
  const events: TrustEvent[] = [];
  for await (const batch of reader.events(fromMs)) events.push(...batch);
  return events;
}

/** The same pure pipeline as a run, over a snapshot of this subject alone; nothing standing is carried, so that it answers. */
async function wouldDecide(
  deps: ExplainDeps,
  rule: LoadedRule,
  record: Facts,
  view: JudgeView,
  events: TrustEvent[],
  nowMs: number,
): Promise<WouldDecide[]> {
  const evaluator = compileRules([rule]);
  evaluator.observe(events);
  evaluator.advance(nowMs);
  const judge = evaluator.judge(rule.subject, { ...view, nowMs, isStanding: () => true });
  judge.accept(record);
  const standing = await deps.reader.standing(nowMs);
  const devices = await devicesOf(deps.api, rule, record);
  const decided = decide({
    runMode: deps.daemonMode,
    daemonMode: deps.daemonMode,
    nowMs,
    // It asks nobody for how long: the wall clock's word is enough to explain.
    steady: { nowMs, sinceMs: Number.NEGATIVE_INFINITY, forMs: 0 },
    judged: [rule],
    unjudged: [],
    activeRules: new Set(deps.rules.map(({ id }) => id)),
    traits: deps.actions,
    judgements: [judge.finish()],
    sources: await readings(deps.reader, nowMs),
    fleet: fleetOf(devices),
    standing: { ...standing, decisions: [] },
    exemptOwners: await exemptOwnersOf(deps, standing, devices, nowMs),
    ids: deps.ids,
    settings: deps.settings,
  });
  const { id } = cardOf(rule.subject, record);
  return decided.decisions
    .filter((decision) => decision.rule === rule.id && decision.subject.id === id)
    .map(({ action, target, decision, reason, reasonText, mode, effect }) => ({
      action,
      target,
      decision,
      reason,
      reasonText,
      mode,
      effect,
    }));
}

/** Counts as of the last trusted reading, for percentages. */
async function readings(reader: StoreReader, nowMs: number): Promise<Record<Source, SourceReading>> {
  const entries = SOURCES.map(async (source) => {
    const baseline = await reader.baseline(source);
    const reading: SourceReading = { ...skippedReading(source, nowMs), state: 'read', count: baseline?.count ?? 1 };
    return [source, reading] as const;
  });
  return Object.fromEntries(await Promise.all(entries)) as Record<Source, SourceReading>;
}

/** All devices that an action on this subject would touch, or names. */
async function devicesOf(api: Api, rule: LoadedRule, record: Facts): Promise<readonly Facts[]> {
  if (rule.subject !== 'device') return [];
  const devices = await api.devicesOfSerial(ownText(record, 'SerialNumber') ?? '');
  return devices.length > 0 ? devices : [record];
}

function fleetOf(devices: readonly Facts[]): FleetIndex {
  const fleet = new FleetIndex();
  for (const device of devices) fleet.add(device);
  return fleet;
}

/** Who owns a device decides whether it is exempt: owners' records are read when some exemption is about more than an address. */
async function exemptOwnersOf(
  { api }: ExplainDeps,
  { exemptions }: Standing,
  devices: readonly Facts[],
  nowMs: number,
): Promise<Map<string, Facts>> {
  return new Exemptions(exemptions ?? [], nowMs).asksForOwnerRecords ? ownersOf(api, devices) : new Map();
}
