// notify: alerts: the current conditions that need a person. In: the store, as the last run left it. Out: one
// notification for each new condition. A lasting condition is not reported again; a returning one is.

import { shownName } from '../../base/text.ts';
import { isoTime, spanText, timeText } from '../../base/time.ts';
import { actorText } from '../../domain/actor.ts';
import { approversText } from '../../domain/approvals.ts';
import { type AuditEntry, entryBody } from '../../domain/audit-entry.ts';
import {
  aboutText,
  type Exemption,
  type ExemptionSettings,
  isEnding,
  isUnused,
  type MemberReader,
} from '../../domain/exemption.ts';
import { expiresAtOf } from '../../domain/exemption-request.ts';
import { guardsOf } from '../../domain/guards.ts';
import { identityText } from '../../domain/identity.ts';
import { timesRefused } from '../../domain/intent.ts';
import type { Alert, Outbox } from '../../domain/notification.ts';
import { stopText } from '../../domain/operator.ts';
import { liftedText, type Plan, type PlanRevision } from '../../domain/plan.ts';
import type { Clock, Ids } from '../../domain/ports.ts';
import { transmitterDoubt } from '../../domain/signal.ts';
import { distrustedNow } from '../../domain/snapshot.ts';
import type { RunRecord } from '../../domain/store.ts';
import type { AuditReader, PlanStore, PullStore, RecordReader, RunStore } from '../../domain/store-ports.ts';
import { SOURCES } from '../../domain/subjects.ts';
import type { DatabaseAlert, QuietHours } from './delivery.ts';

// Alerts about operator commands: a stop or a resume, and exemptions that end soon or are unused.

type OperatorAlertReader = Pick<RecordReader, 'stop' | 'exemptions' | 'exemptionRequests'> &
  Pick<AuditReader, 'audit'> &
  MemberReader;

/** An event that does not last is reported for this long, in case no check ran since. */
const RECENT_MS = 86_400_000;

export async function operatorAlerts(
  reader: OperatorAlertReader,
  settings: ExemptionSettings,
  nowMs: number,
): Promise<Alert[]> {
  const exemptions = await reader.exemptions(nowMs);
  return [
    ...(await stopOrResume(reader, nowMs)),
    ...exemptions.filter((one) => isEnding(one, settings, nowMs)).map(endingAlert),
    ...exemptions.filter((one) => isUnused(one, settings, nowMs)).map(unusedAlert),
    ...(await joinedAlerts(reader, exemptions)),
    ...(await requestAlerts(reader)),
  ];
}

/** Each has an alert of its own, up to so many that wait; beyond that one for the others. */
const REQUESTS_MAX = 20;

/** What the person wrote is not in the text, but data beside it. */
async function requestAlerts(reader: Pick<RecordReader, 'exemptionRequests'>): Promise<Alert[]> {
  const { rows, total } = await reader.exemptionRequests({ status: 'waiting', limit: REQUESTS_MAX });
  const alerts = rows.map((request): Alert => {
    const { id, person, device, serial, name, reason, forMs } = request;
    const until = timeText(expiresAtOf(request));
    const text = `${shownName(person)} asks for an exemption of device ${shownName(serial || device)} for ${spanText(forMs)}: grant or refuse it until ${until}`;
    const about = {
      request: id,
      person,
      subject: { kind: 'device', id: device },
      serial: serial || null,
      name,
      reason,
    };
    return { key: `request ${id}`, code: 'exemption_requested', text, about };
  });
  if (total <= rows.length) return alerts;
  const text = `${total} persons' requests for exemptions wait for an answer`;
  return [...alerts, { key: 'requests by many', code: 'exemption_requested', text, about: { count: total } }];
}

/** Each newcomer has an alert of its own, up to so many of an exemption; beyond that one for the others. */
const JOINED_MAX = 10;

async function joinedAlerts(reader: MemberReader, exemptions: readonly Exemption[]): Promise<Alert[]> {
  const alerts: Alert[] = [];
  for (const exemption of exemptions) {
    const { count, some } = await reader.joinedLater(exemption, JOINED_MAX);
    const waits = "it is neither acted on nor exempt before a person's yes";
    for (const one of some) {
      const { kind, id, serial } = one;
      const text = `${identityText(one)} joined ${named(exemption)} after it was made: ${waits}`;
      const about = { ...aboutOf(exemption), subject: { kind, id }, serial: serial || null };
      alerts.push({
        key: `exemption ${exemption.id} joined by ${kind} ${id} ${serial}`,
        code: 'exemption_joined',
        text,
        about,
      });
    }
    if (count <= some.length) continue;
    const text = `${count} subjects joined ${named(exemption)} after it was made: each waits for a person's yes`;
    alerts.push({
      key: `exemption ${exemption.id} joined by many`,
      code: 'exemption_joined',
      text,
      about: { ...aboutOf(exemption), count },
    });
  }
  return alerts;
}

async function stopOrResume(reader: Pick<OperatorAlertReader, 'stop' | 'audit'>, nowMs: number): Promise<Alert[]> {
  const stop = await reader.stop();
  if (stop) {
    const { at, by, reason } = stop;
    const text = `${stopText(stop)}; nothing is called until it is resumed`;
    return [{ key: `stopped ${at}`, code: 'stopped', text, about: { at: isoTime(at), by, reason } }];
  }
  const [lifted] = await reader.audit({ kind: 'stop.lifted', limit: 1 });
  if (!lifted || lifted.at <= nowMs - RECENT_MS) return [];
  const { by, reason } = operatorIn(lifted);
  const text = `${actorText(by)} resumed at ${timeText(lifted.at)}, and actions are called again: ${reason}`;
  return [{ key: `resumed ${lifted.seq}`, code: 'resumed', text, about: { at: isoTime(lifted.at), by, reason } }];
}

const GLASS_MAX = 20;

/** Plans that people let through change windows since a time. */
async function glassAlerts(reader: Pick<AuditReader, 'audit'>, since: number): Promise<Alert[]> {
  const entries = await reader.audit({ kind: 'plan.glass_broken', since, limit: GLASS_MAX });
  return entries
    .filter(({ at }) => at > since)
    .map((entry) => {
      const { by, reason, plan } = operatorIn(entry);
      const text = `BREAK GLASS: ${actorText(by)} let plan ${plan} ${liftedText(entryBody(entry))} at ${timeText(entry.at)}: ${reason}`;
      const about = { plan, at: isoTime(entry.at), by, reason };
      return { key: `break glass ${entry.seq}`, code: 'break_glass', text, about };
    });
}

/** Older sets of signed rules that somebody put back since a time. It may be meant, so they are used. */
async function returnedAlerts(reader: Pick<AuditReader, 'audit'>, since: number): Promise<Alert[]> {
  const entries = await reader.audit({ kind: 'rules.returned', since, limit: GLASS_MAX });
  return entries
    .filter(({ at }) => at > since)
    .map((entry) => {
      const { seq = null, signedBy = null } = entryBody(entry);
      const text = `a set of signed rules that was in force in run ${seq} is in force again since ${timeText(entry.at)}, and another one was between: look whether that is meant`;
      return { key: `rules returned ${entry.seq}`, code: 'rules_returned', text, about: { seq, signedBy } };
    });
}

/** Rules that act no more, each until a person goes on. Not of a rule that begins anew, which its text does. */
async function brakedAlerts(reader: Pick<RecordReader, 'rollouts'>): Promise<Alert[]> {
  return (await reader.rollouts()).flatMap(({ rule, braked, step }): Alert[] => {
    if (!braked) return [];
    const { at, why } = braked;
    const text = `rule ${rule} acts no more, since ${why}: it waits for a person, who resumes or restarts its rollout`;
    const about = { rule, step: step + 1, at: isoTime(at), why };
    return [{ key: `rollout ${rule} braked ${at}`, code: 'rollout_braked', text, about }];
  });
}

/** Of what pushes and is never asked nothing is proven, so that its silence says nothing. */
export async function transmitterAlerts(
  reader: Pick<RecordReader, 'transmitterStates'>,
  rules: Parameters<typeof guardsOf>[0],
  nowMs: number,
): Promise<Alert[]> {
  const transmitters = guardsOf(rules)?.transmitters ?? [];
  if (transmitters.length === 0) return [];
  const states = await reader.transmitterStates();
  return transmitters.flatMap((one): Alert[] => {
    const { name } = one;
    const state = states.find((each) => each.name === name);
    const doubt = transmitterDoubt(one, state, nowMs);
    if (doubt === undefined) return [];
    const text = `transmitter ${name}: ${doubt}; rules over its signals are unknown until it is heard of`;
    return [{ key: `transmitter ${name}`, code: 'signals_silent', text, about: { transmitter: name } }];
  });
}

/** Targets that Trustward acted on, undid and acted on again within a day: one alert each while that lasts. */
export async function flapAlerts(reader: Pick<AuditReader, 'audit'>, since: number): Promise<Alert[]> {
  const entries = await reader.audit({ kind: 'decision.flapped', since, limit: FLAPS_MAX });
  const recent = entries.filter(({ at }) => at > since);
  return recent.map((entry) => {
    const { rule, action, target, reasonText } = wordsIn(entry, ['rule', 'action', 'target', 'reasonText']);
    const text = `${action} ${target} is done again by rule ${rule}, less than a day after Trustward undid it: ${reasonText}`;
    const about = { rule, action, target, at: isoTime(entry.at) };
    return { key: `flap ${action} ${target}`, code: 'flap', text, about };
  });
}

const FLAPS_MAX = 100;

function operatorIn(entry: AuditEntry): { by: string; reason: string; plan: string } {
  return wordsIn(entry, ['by', 'reason', 'plan']);
}

/** One of several may have said yes. */
function unappliedText(plan: Pick<Plan, 'agreed' | 'decidedBy'>): string {
  const who = approversText(plan);
  if (who === undefined) return 'nobody answered it';
  return plan.decidedBy === undefined
    ? `${who} said yes, and it needed ${plan.agreed?.missing}`
    : `${who} approved it and it was not applied`;
}

/** A tampered entry still shows that there was one; verification names it. */
function wordsIn<const Name extends string>(entry: AuditEntry, names: readonly Name[]): Record<Name, string> {
  const body = entryBody(entry);
  return Object.fromEntries(names.map((name) => [name, String(body[name] ?? 'unreadable')])) as Record<Name, string>;
}

function endingAlert(exemption: Exemption): Alert {
  const text = `${named(exemption)} ends at ${timeText(exemption.expiresAt)}: rules act on it again then`;
  return { key: `exemption ending ${exemption.id}`, code: 'exemption_ending', text, about: aboutOf(exemption) };
}

function unusedAlert(exemption: Exemption): Alert {
  const text = `${named(exemption)} has matched nothing since ${timeText(exemption.createdAt)}`;
  return { key: `exemption unused ${exemption.id}`, code: 'exemption_unused', text, about: aboutOf(exemption) };
}

function named(exemption: Exemption): string {
  return `exemption ${exemption.id} of ${aboutText(exemption)} (${exemption.owner} is responsible for it)`;
}

function aboutOf(exemption: Exemption): Alert['about'] {
  const { id, owner, createdAt, expiresAt } = exemption;
  const times = { createdAt: isoTime(createdAt), expiresAt: isoTime(expiresAt) };
  return { exemption: id, about: aboutText(exemption), owner, ...times };
}

export interface AlertDeps {
  reader: Pick<RecordReader, 'runsOverLists' | 'plans' | 'planRevisions' | 'intents' | 'openFailures' | 'rollouts'> &
    Pick<PlanStore, 'episodes'> &
    Pick<RunStore, 'openState'> &
    Pick<PullStore, 'baseline'> &
    Pick<AuditReader, 'audit'> &
    OperatorAlertReader;
  outbox: Outbox;
  ids: Ids;
  clock: Clock;
  /** Names of webhooks. */
  to: readonly string[];
  exemptions: ExemptionSettings;
  /** Absent: none. */
  quietHours?: QuietHours;
  /** Absent for a database in memory, which has no disk to fail. */
  database?: Pick<DatabaseAlert, 'condition' | 'describePast'>;
  /** Where any process keeps the schedule: after this long without a trusted snapshot in the record. Absent or 0: whoever watches counts it. */
  recordedSilenceMs?: number;
  /** Further conditions, also of this process, which the store does not know. */
  beside?: () => Promise<Alert[]>;
}

/** How many runs back a trusted snapshot is searched for. */
const RUNS_BACK = 20;
const PLANS_MAX = 100;
const LOOK_EVERY_MS = 60_000;

export class Alerts {
  private silenceAfterMs: number;
  /** Undefined: silence is counted in the record, whichever process has looked at it. */
  private watchedSince: number | undefined;
  private lastTrustedAt: number | undefined;
  private turn: Promise<unknown> = Promise.resolve();

  constructor(private readonly deps: AlertDeps) {
    this.silenceAfterMs = deps.recordedSilenceMs ?? 0;
  }

  /**
   * Checks now and then until `signal` aborts, also when no run ends: from now on, a long time without a trusted
   * snapshot is an alert too. Only a daemon, or the workers, have a schedule that can fall silent. Never throws.
   */
  async watchSilence(afterMs: number, signal: AbortSignal, failed: (error: unknown) => void): Promise<void> {
    const { clock, to } = this.deps;
    if (afterMs === 0 || to.length === 0) return;
    this.silenceAfterMs = afterMs;
    this.watchedSince = clock.nowMs();
    const everyMs = Math.min(Math.max(Math.floor(afterMs / 4), 1_000), LOOK_EVERY_MS);
    while (!signal.aborted) {
      await clock.sleep(everyMs, signal).catch(() => {}); // being stopped
      if (!signal.aborted) await this.look().catch(failed);
    }
  }

  /** Checks are serialized; reports new conditions and returns them. Errors: AppError `store_failed`. */
  look(): Promise<Alert[]> {
    const looked = this.turn.then(() => this.lookOnce());
    this.turn = looked.catch(() => {});
    return looked;
  }

  private async lookOnce(): Promise<Alert[]> {
    const { outbox, to, ids } = this.deps;
    if (to.length === 0) return [];
    try {
      const waits = (alert: Alert) => this.deps.quietHours?.holds(alert) === true;
      return await outbox.raise(await this.conditions(), to, () => ids.next(), waits);
    } catch (error) {
      if (await this.deps.database?.describePast(to)) return [];
      throw error;
    }
  }

  private async conditions(): Promise<Alert[]> {
    const failing = this.deps.database?.condition();
    const { reader } = this.deps;
    // A look between two whole runs reads no list: it is no sign that lists can still be trusted.
    const latest = (await reader.runsOverLists(RUNS_BACK)).filter(({ findings }) => findings !== undefined);
    return [
      ...(await this.waitingPlans()),
      ...(await this.expiredPlans()),
      ...(await this.parked()),
      ...(await this.refused()),
      ...(await this.heldByBounds()),
      ...untrustedNow(latest),
      ...(await this.silence(latest)),
      ...(await operatorAlerts(reader, this.deps.exemptions, this.deps.clock.nowMs())),
      ...(await glassAlerts(reader, this.deps.clock.nowMs() - RECENT_MS)),
      ...(await returnedAlerts(reader, this.deps.clock.nowMs() - RECENT_MS)),
      ...(await flapAlerts(reader, this.deps.clock.nowMs() - RECENT_MS)),
      ...(await brakedAlerts(reader)),
      ...(failing ? [failing] : []),
      ...((await this.deps.beside?.()) ?? []),
    ];
  }

  private async waitingPlans(): Promise<Alert[]> {
    const { reader, clock } = this.deps;
    const waiting = (await reader.plans({ status: 'pending' }, PLANS_MAX)).filter(waitsForPerson);
    const nowMs = clock.nowMs();
    const alerts: Alert[] = [];
    for (const plan of waiting)
      alerts.push(waitingAlert(plan, await reader.planRevisions(plan.id)), ...reminderOf(plan, nowMs));
    return alerts;
  }

  /** Expiry denies: a plan that nobody answered in time, or that was approved and not applied, was not done. */
  private async expiredPlans(): Promise<Alert[]> {
    const since = this.deps.clock.nowMs() - RECENT_MS - (this.deps.quietHours?.longestMs ?? 0);
    const expired = await this.deps.reader.plans({ status: 'expired' }, PLANS_MAX);
    const recent = expired.filter((plan) => plan.expiresAt > since && waitsForPerson(plan));
    return recent.map(({ id, digest, intents, mode, expiresAt, ...answered }) => ({
      key: `expired ${id}`,
      code: 'plan_expired',
      text: `plan ${id} expired at ${timeText(expiresAt)}, ${unappliedText(answered)}: nothing of it is done`,
      about: { plan: id, digest, mode, intents: intents.length, expiresAt: isoTime(expiresAt) },
    }));
  }

  private async parked(): Promise<Alert[]> {
    const { reader } = this.deps;
    const intents = await reader.intents({ outcome: 'parked' });
    const episodes = await reader.episodes(intents.flatMap(({ basis }) => basis.map(({ episodeId }) => episodeId)));
    const subjects = new Map(episodes.map(({ id, subject }) => [id, { ...subject }]));
    return intents.map(({ id, action, target, note, basis }) => {
      const rules = [...new Set(basis.map(({ rule }) => rule))];
      const subject = subjects.get(basis[0]?.episodeId ?? '') ?? null;
      return {
        key: `parked ${id}`,
        code: 'parked',
        text: `${action} ${target} is parked and needs a person: ${note ?? ''}`,
        about: { intent: id, action, target, note: note ?? null, rules, subject },
      };
    });
  }

  /** What the server refuses is never parked: one alert for each action, for any number of targets. */
  private async refused(): Promise<Alert[]> {
    const refused = (await this.deps.reader.openFailures()).filter((intent) => timesRefused(intent) > 0);
    return [...new Set(refused.map(({ action }) => action))].map((action) => {
      const own = refused.filter((intent) => intent.action === action);
      const note = own[0]?.note ?? null;
      const targets = `${own.length} target${own.length === 1 ? '' : 's'}`;
      const text = `the server refuses ${action}, so it is not done on ${targets}: ${note ?? ''}`;
      return { key: `refused ${action}`, code: 'refused', text, about: { action, intents: own.length, note } };
    });
  }

  /** A rule beyond its limits or that cannot warn, an action at its ceiling: one alert each, for any number of held targets. */
  private async heldByBounds(): Promise<Alert[]> {
    const { decisions } = await this.deps.reader.openState(this.deps.clock.nowMs());
    const alerts = new Map<string, Alert>();
    for (const { decision, reason, rule, action, reasonText } of decisions) {
      if (decision !== 'hold') continue;
      if (reason === 'limits') {
        const key = `limit ${rule}`;
        const text = `all of rule ${rule} waits for a yes: ${reasonText}`;
        alerts.set(key, { key, code: 'limit', text, about: { rule, reason: reasonText } });
      } else if (reason === 'notice_undelivered') {
        const key = `unwarned ${rule}`;
        const text = `rule ${rule} waits for a yes, since somebody could not be warned: ${reasonText}`;
        alerts.set(key, { key, code: 'notice_undelivered', text, about: { rule, reason: reasonText } });
      } else if (reason === 'ceiling') {
        const key = `ceiling ${action}`;
        alerts.set(key, { key, code: 'ceiling', text: reasonText, about: { action, reason: reasonText } });
      }
    }
    return [...alerts.values()];
  }

  private async silence(latest: readonly RunRecord[]): Promise<Alert[]> {
    if (this.silenceAfterMs === 0) return [];
    const isRecorded = this.watchedSince === undefined;
    const recentAt = latest.find(isTrusted)?.finishedAt;
    const earlierAt = async () => (isRecorded ? this.lastTrustedBefore(latest) : this.lastTrustedAt);
    this.lastTrustedAt = recentAt ?? (await earlierAt());
    const since = isRecorded
      ? (this.lastTrustedAt ?? (await this.recordedSince()))
      : Math.max(this.lastTrustedAt ?? 0, this.watchedSince ?? 0);
    if (this.deps.clock.nowMs() - since < this.silenceAfterMs) return [];
    const last = this.lastTrustedAt === undefined ? null : isoTime(this.lastTrustedAt);
    const text = `no trusted snapshot since ${last ?? 'the start'}: nothing is judged, and nothing is done`;
    return [{ key: 'silence', code: 'silence', text, about: { lastTrusted: last } }];
  }

  /** Further back than those runs: a baseline is of the last trusted reading of its source. */
  private async lastTrustedBefore(latest: readonly RunRecord[]): Promise<number | undefined> {
    const distrusted = untrustedNow(latest).map(({ about }) => about.source);
    const found = await Promise.all(SOURCES.map((source) => this.deps.reader.baseline(source)));
    const times = found.flatMap((one) =>
      one && (distrusted.length === 0 || distrusted.includes(one.source)) ? [one.takenAt] : [],
    );
    if (times.length === 0) return undefined;
    return distrusted.length === 0 ? Math.max(...times) : Math.min(...times);
  }

  /** The beginning of the audit, or of what is kept of it: an organization that could never be worked for has none. */
  private async recordedSince(): Promise<number> {
    const { reader, outbox, clock } = this.deps;
    const [first] = await reader.audit({ afterSeq: 0, limit: 1 });
    return first?.at ?? outbox.watchedSince(clock.nowMs());
  }
}

/** What only a change window holds is done after it without a person. */
function waitsForPerson({ intents, decidedBy }: Plan): boolean {
  return decidedBy !== undefined || !intents.every(({ held, reason }) => held && reason === 'frozen');
}

/** Again when something joined it, and not when something left. */
function waitingAlert({ id, digest, intents, mode, expiresAt }: Plan, revisions: readonly PlanRevision[] = []): Alert {
  const last = revisions.findLast(({ change }) => change.joined > 0);
  const count = `${intents.length} action${intents.length === 1 ? '' : 's'}`;
  const joined = last ? `, ${last.change.joined} of which joined it` : '';
  return {
    key: last ? `plan ${id} after ${last.createdAt}` : `plan ${id}`,
    code: 'plan_waits',
    text: `plan ${id} waits for a yes: ${count}${joined}, until ${timeText(expiresAt)}`,
    about: { plan: id, digest, mode, intents: intents.length, expiresAt: isoTime(expiresAt) },
  };
}

/** When a plan that waits is announced again, in tenths of its time; the latest one that has come counts. */
const REMINDED_AT = [9, 5];

/** INVARIANT: the key is stored, so that each is announced once, whatever restarts in between. */
function reminderOf(plan: Plan, nowMs: number): Alert[] {
  const { id, createdAt, expiresAt } = plan;
  const passed = (10 * (nowMs - createdAt)) / Math.max(expiresAt - createdAt, 1);
  const tenths = REMINDED_AT.find((one) => passed >= one);
  if (tenths === undefined) return [];
  const { about } = waitingAlert(plan);
  const text = `plan ${id} still waits for a yes: ${tenths === 5 ? 'half' : 'nine tenths'} of its time is over, and it expires at ${timeText(expiresAt)}`;
  return [{ key: `plan ${id} at ${tenths} tenths`, code: 'plan_still_waits', text, about }];
}

function untrustedNow(latest: readonly RunRecord[]): Alert[] {
  return distrustedNow(latest).map(({ run, reading: { source, ...reading } }) => {
    const reasons = reading.reasons.map(({ text }) => text);
    const text = `${source} are not trusted, so nothing is done on them: ${reasons.join('; ')}`;
    return { key: `untrusted ${source}`, code: 'untrusted', text, about: { source, run: run.id, reasons } };
  });
}

function isTrusted(run: RunRecord): boolean {
  return run.status === 'completed' && distrustedNow([run]).length === 0;
}
