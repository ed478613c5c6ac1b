// report: an audit entry as an event of OCSF or of CloudEvents, for programs that collect the events of many products. In: an entry and, of a
// decision or an outcome, its record. Out: one event, the same wherever it is sent; undefined: the schema has no class for it. Pure. INVARIANT:
// nothing is in it that our own view of the entry does not have, and a dry run is never a success.

import { isoTime } from '../../base/time.ts';
import type { EffectDevice } from '../../domain/action.ts';
import { personOf } from '../../domain/actor.ts';
import { type AuditEntry, type AuditKind, entryBody } from '../../domain/audit-entry.ts';
import { LIFTED_BY_TIME, type ReasonCode } from '../../domain/decision.ts';
import { type Facts, isFacts, ownText } from '../../domain/facts.ts';
import type { EventSchema, LiveEvent } from '../../domain/live-event.ts';
import { DEEDS } from './audit-words.ts';
import { actWords } from './fact-text.ts';
import { auditView } from './lists-text.ts';
import { liveEventView } from './token-view.ts';

/** @param live of an entry that is a decision or an outcome, which every schema has: it is shown as that, and as nothing else. */
export function eventIn(schema: EventSchema, entry: AuditEntry, live: LiveEvent): object;
export function eventIn(schema: EventSchema, entry: AuditEntry, live: LiveEvent | undefined): object | undefined;
export function eventIn(schema: EventSchema, entry: AuditEntry, live: LiveEvent | undefined): object | undefined {
  if (schema === 'cloudevents') return cloudEvent(entry, live, live ? liveEventView(live) : auditView(entry));
  const event = ocsfEvent(entry, live);
  if (event === undefined || schema === 'ocsf') return event;
  return cloudEvent(entry, live, event, `https://schema.ocsf.io/${OCSF_VERSION}/classes/${classOf(event.class_uid)}`);
}

// CloudEvents 1.0, structured.

/** INVARIANT: number and hash name an entry among those of all databases, a restored one included: with it, the source need not tell them apart. */
const SOURCE = 'urn:trustward:audit';
const TYPES = 'io.trustward';

function uidOf({ seq, hash }: AuditEntry): string {
  return `${seq}-${hash}`;
}

function cloudEvent(entry: AuditEntry, live: LiveEvent | undefined, data: object, dataschema?: string): object {
  return {
    specversion: '1.0',
    id: uidOf(entry),
    source: SOURCE,
    type: live ? `${TYPES}.${live.event}` : `${TYPES}.entry.${entry.kind}`,
    ...filled({ subject: subjectOf(live), dataschema }),
    time: isoTime(entry.at),
    datacontenttype: 'application/json',
    dryrun: live?.isDryRun ?? entry.kind === 'intent.dry',
    data,
  };
}

function subjectOf(live: LiveEvent | undefined): string | undefined {
  if (live?.event === 'outcome') return live.intent?.target ?? ownText(entryBody(live.entry), 'target');
  const subject = live?.decision?.subject ?? (live && entryBody(live.entry).subject);
  return isFacts(subject) ? `${subject.kind} ${subject.id}` : undefined;
}

// OCSF: the parts of every event.

const OCSF_VERSION = '1.7.0';

/** An id of OCSF and its caption; of 99 the caption is ours. */
type Named = readonly [id: number, caption: string];

const CLASSES = {
  detection_finding: { uid: 2004, name: 'Detection Finding', category: [2, 'Findings'] },
  remediation_activity: { uid: 7001, name: 'Remediation Activity', category: [7, 'Remediation'] },
  api_activity: { uid: 6003, name: 'API Activity', category: [6, 'Application Activity'] },
} as const satisfies { [name: string]: { uid: number; name: string; category: Named } };

function classOf(classUid: number): string {
  return Object.entries(CLASSES).find(([, { uid }]) => uid === classUid)?.[0] ?? 'base_event';
}

const INFORMATIONAL: Named = [1, 'Informational'];
const MEDIUM: Named = [3, 'Medium'];
const HIGH: Named = [4, 'High'];
const UNKNOWN: Named = [0, 'Unknown'];
const SUCCESS: Named = [1, 'Success'];
const OTHER = 99;

interface Basics {
  activity: Named;
  severity: Named;
  status: Named;
  message: string;
  isDryRun?: boolean;
  /** It joins the decisions and actions of one match. */
  episode?: string | undefined;
  profiles?: string[];
}

function basics(entry: AuditEntry, of: keyof typeof CLASSES, parts: Basics) {
  const { uid, name, category } = CLASSES[of];
  const { activity, severity, status, message, isDryRun = false, episode, profiles } = parts;
  return {
    category_uid: category[0],
    category_name: category[1],
    class_uid: uid,
    class_name: name,
    activity_id: activity[0],
    activity_name: activity[1],
    type_uid: uid * 100 + activity[0],
    type_name: `${name}: ${activity[0] === OTHER ? 'Other' : activity[1]}`,
    severity_id: severity[0],
    severity: severity[1],
    status_id: status[0],
    status: status[1],
    time: entry.at,
    message,
    metadata: {
      version: OCSF_VERSION,
      product: { name: 'Trustward', vendor_name: 'Trustward' },
      uid: uidOf(entry),
      sequence: entry.seq,
      event_code: entry.kind,
      log_name: 'audit',
      ...filled({ correlation_uid: episode, profiles, labels: isDryRun ? ['dry_run'] : [] }),
    },
  };
}

/** Without members that say nothing. */
function filled(members: { [name: string]: unknown }): object {
  const says = (member: unknown) =>
    member !== undefined && member !== null && member !== '' && !(Array.isArray(member) && member.length === 0);
  return Object.fromEntries(Object.entries(members).filter(([, member]) => says(member)));
}

function ocsfEvent(entry: AuditEntry, live: LiveEvent | undefined) {
  if (live?.event === 'decision') return finding(live);
  if (live) return remediation(live);
  return apiActivity(entry);
}

// OCSF: devices, people and what else an event is about.

const SYSTEMS: { readonly [platform: string]: Named } = {
  windows: [100, 'Windows'],
  linux: [200, 'Linux'],
  android: [201, 'Android'],
  macos: [300, 'macOS'],
  ios: [301, 'iOS'],
  ipados: [302, 'iPadOS'],
};
const EMAIL = /^[\w.+-]+@[a-z0-9-]+\.[a-z0-9.-]+$/i;

function deviceObject({ id, name, platform, model, serial, owners = [] }: EffectDevice): object {
  const [type_id, type] = SYSTEMS[platform.toLowerCase()] ?? UNKNOWN;
  const [owner] = owners;
  return {
    type_id: UNKNOWN[0],
    type: UNKNOWN[1],
    ...filled({
      uid: id,
      name,
      model,
      os: platform === '' ? undefined : { name: platform, type_id, type },
      hw_info: serial ? { serial_number: serial } : undefined,
      owner: owner ? userObject(owner) : undefined,
    }),
  };
}

function userObject(name: string, uid?: string): object {
  return { name, type_id: 1, type: 'User', ...filled({ uid, email_addr: EMAIL.test(name) ? name : undefined }) };
}

/** The device that it is about, and what to search for: that of all that it touches, or its target. */
function devicesOf(devices: readonly EffectDevice[], subjectId?: string, target?: string): object {
  const first = devices.find(({ id }) => id === subjectId) ?? devices[0];
  const observables = devices.flatMap(({ id, serial, owners = [] }) => [
    observable('device.uid', id, 47),
    ...(serial ? [observable('device.hw_info.serial_number', serial, 37, 'Serial Number')] : []),
    ...owners.map((owner) =>
      EMAIL.test(owner)
        ? observable('device.owner.email_addr', owner, 5, 'Email Address')
        : observable('device.owner.name', owner, 4, 'User Name'),
    ),
  ]);
  if (!first && target) observables.push(observable('unmapped.target', target, 10, 'Resource UID'));
  return filled({ device: first && deviceObject(first), observables });
}

function observable(name: string, value: string, type_id: number, type?: string): object {
  return { name, value, type_id, ...filled({ type }) };
}

// OCSF: a decision is a finding, an outcome a remediation.

/** Reasons of what is not done because somebody said so, and because nothing is left to do. */
const SUPPRESSED: ReadonlySet<string> = new Set<ReasonCode>(['exempt', 'rejected', 'overridden']);
const RESOLVED: ReadonlySet<string> = new Set<ReasonCode>(['already_so', 'already_acted', 'cleared']);

function statusOfFinding(answer: string, reason: string): Named {
  if (RESOLVED.has(reason)) return [4, 'Resolved'];
  if (SUPPRESSED.has(reason)) return [3, 'Suppressed'];
  return answer === 'act' || LIFTED_BY_TIME.has(reason as ReasonCode) ? [2, 'In Progress'] : [1, 'New'];
}

function finding(live: LiveEvent & { event: 'decision' }) {
  const { entry, isDryRun, decision } = live;
  const body = entryBody(entry);
  // One that was removed since is what its entry says.
  const kept = (name: string) => ownText(body, name) ?? '';
  const { rule = kept('rule'), reason = kept('reason'), reasonText = kept('reasonText') } = decision ?? {};
  const { action = kept('action'), target = kept('target'), effect, facts = body.facts, since } = decision ?? {};
  const answer = decision?.decision ?? kept('answer');
  const subject = decision?.subject ?? (isFacts(body.subject) ? body.subject : {});
  const subjectName = decision?.subjectName || String(subject.id ?? target);
  const episode = decision?.episodeId ?? ownText(body, 'episode');
  const severity = answer === 'skip' ? INFORMATIONAL : MEDIUM;
  const message = `${answer}: ${effect?.text ?? `${action} ${target}`}${reasonText === '' ? '' : ` (${reasonText})`}`;
  const status = statusOfFinding(answer, reason);
  return {
    ...basics(entry, 'detection_finding', {
      ...{ activity: [1, 'Create'], severity, status },
      message,
      isDryRun,
      episode,
    }),
    is_alert: !isDryRun && (answer === 'act' || answer === 'hold'),
    finding_info: {
      uid: decision?.id ?? kept('decision'),
      title: `${rule}: ${subjectName}`,
      created_time: entry.at,
      analytic: { name: rule, type_id: 1, type: 'Rule', ...filled({ uid: decision?.ruleHash ?? kept('ruleHash') }) },
      ...filled({ desc: reasonText, first_seen_time: since, types: [decision?.verdict].flatMap((one) => one ?? []) }),
    },
    ...devicesOf(effect?.devices ?? [], String(subject.id)),
    ...filled({
      status_code: reason,
      status_detail: reasonText,
      start_time: since,
      evidences: isFacts(facts) && Object.keys(facts).length > 0 ? [{ name: rule, data: facts }] : [],
      remediation: action === '' ? undefined : { desc: effect?.text || `${action} ${target}` },
      resources:
        subject.id === undefined ? [] : [{ uid: subject.id, name: subjectName, type: subject.kind, ...TARGET }],
    }),
    unmapped: {
      ...{ answer, reason, action, target, dry_run: isDryRun },
      ...filled({
        mode: decision?.mode ?? kept('mode'),
        run: decision?.runId ?? kept('run'),
        intent: decision?.intentId,
      }),
    },
  };
}

const TARGET = { role_id: 1, role: 'Target' };

/** What MITRE D3FEND calls each action's tactic. */
const TACTICS: { readonly [action: string]: Named } = {
  ban_device: [1, 'Isolate'],
  disable_service: [1, 'Isolate'],
  remove_from_bundle: [1, 'Isolate'],
  delete_device: [2, 'Evict'],
  delete_service: [2, 'Evict'],
  unban_device: [3, 'Restore'],
  enable_service: [3, 'Restore'],
  add_to_bundle: [3, 'Restore'],
  update_service: [4, 'Harden'],
};

/** INVARIANT: only what was done on the platform is a success. A result of another version is unknown. */
const RESULTS: { readonly [result: string]: { status: Named; severity: Named } } = {
  succeeded: { status: SUCCESS, severity: INFORMATIONAL },
  confirmed: { status: SUCCESS, severity: INFORMATIONAL },
  failed: { status: [2, 'Failure'], severity: MEDIUM },
  unknown: { status: UNKNOWN, severity: MEDIUM },
  parked: { status: [OTHER, 'parked'], severity: HIGH },
  dry_run: { status: [OTHER, 'dry_run'], severity: INFORMATIONAL },
  withdrawn: { status: [OTHER, 'withdrawn'], severity: INFORMATIONAL },
};

function remediation(live: LiveEvent & { event: 'outcome' }) {
  const { entry, isDryRun, intent, result, note, rules } = live;
  const body = entryBody(entry);
  const kept = (name: string) => ownText(body, name) ?? '';
  const action = intent?.action ?? kept('action');
  const target = intent?.target ?? kept('target');
  const { status: came, severity } = RESULTS[result] ?? { status: UNKNOWN, severity: MEDIUM };
  // A notice mends nothing, however well it went.
  const status: Named = came === SUCCESS && !actWords(action, '').isCall ? [OTHER, result] : came;
  const does = intent?.effect.text || kept('effect') || `${action} ${target}`;
  const message = `${result}: ${does}`;
  const activity = TACTICS[action] ?? [OTHER, action || 'unknown'];
  const episode = intent?.basis[0]?.episodeId;
  return {
    ...basics(entry, 'remediation_activity', {
      activity,
      severity,
      status,
      message,
      isDryRun,
      episode,
      profiles: ['host'],
    }),
    command_uid: intent?.id ?? kept('intent'),
    remediation: { desc: does },
    actor: body.by === undefined ? { app_name: 'Trustward' } : askedBy(kept('by')).actor,
    ...devicesOf(intent?.effect.devices ?? [], intent?.basis[0]?.subjectId, target),
    ...filled({ status_code: result, status_detail: note, start_time: intent?.sentAt }),
    unmapped: {
      ...{ action, target, dry_run: isDryRun },
      ...filled({ rules, undo: intent?.undo, mode: intent?.mode, run: intent?.runId, plan: intent?.planId }),
    },
  };
}

// OCSF: what people and programs asked of Trustward, and what it asked of the platform.

/** By the second part of a kind; anything else changes something. */
const REQUESTS: { readonly [verb: string]: Named } = {
  ...{ added: [1, 'Create'], made: [1, 'Create'], requested: [1, 'Create'], began: [1, 'Create'] },
  ...{ ended: [4, 'Delete'], removed: [4, 'Delete'], revoked: [4, 'Delete'] },
};
const UPDATE: Named = [3, 'Update'];
const ASKED: ReadonlySet<AuditKind> = new Set(DEEDS);

/** Undefined: nobody asked, or nothing was called. */
function apiActivity(entry: AuditEntry) {
  const body = entryBody(entry);
  const [action, target, by] = [ownText(body, 'action') ?? '', ownText(body, 'target'), ownText(body, 'by')];
  const resources = target ? { resources: [{ uid: target, ...TARGET }] } : {};
  if (entry.kind === 'intent.sent' && actWords(action, '').isCall) {
    const activity: Named = action.startsWith('delete_') ? [4, 'Delete'] : UPDATE;
    // Its answer is the outcome, which comes as an event of its own.
    const parts = { activity, severity: INFORMATIONAL, status: UNKNOWN, message: `sent: ${action} ${target}` };
    const api = apiObject(action, 'Management API', ownText(body, 'intent') ?? uidOf(entry), body);
    const actor = { app_name: 'Trustward' };
    return {
      ...basics(entry, 'api_activity', parts),
      actor,
      api,
      src_endpoint: { svc_name: 'Trustward' },
      ...resources,
    };
  }
  if (!ASKED.has(entry.kind) || by === undefined) return undefined;
  const activity = REQUESTS[entry.kind.split('.')[1] ?? ''] ?? UPDATE;
  const severity = entry.kind === 'plan.glass_broken' ? HIGH : INFORMATIONAL;
  const parts = { activity, severity, status: SUCCESS, message: `${by}: ${entry.kind}` };
  const { actor, way } = askedBy(by);
  const api = apiObject(entry.kind, 'Trustward', uidOf(entry), body);
  return { ...basics(entry, 'api_activity', parts), actor, api, src_endpoint: { svc_name: way }, ...resources };
}

function apiObject(operation: string, service: string, uid: string, data: Facts): object {
  return { operation, service: { name: service }, request: { uid, data } };
}

/** `way`: `command line`, `page`, a token, or the provider that vouched for the person. */
function askedBy(by: string): { actor: object; way: string } {
  const person = personOf(by);
  if (person) return { actor: { user: userObject(person.email, person.sub) }, way: person.issuer };
  const [, name = by, way = 'Trustward'] = /^([^()]+) \(([^()]+)\)$/.exec(by) ?? [];
  return { actor: { user: userObject(name) }, way };
}
