// explain: the history of one target or one subject, newest first. In: a target (a serial number, a service) or a subject's id. Out: its
// decisions, calls with their outcomes, reversals, releases, resolved doubts and exemptions. It reads the store only, and no more than a
// few pages of it.

import { timeText } from '../../base/time.ts';
import type { ActionName } from '../../domain/action.ts';
import { actorText } from '../../domain/actor.ts';
import { type AuditEntry, entryBody } from '../../domain/audit-entry.ts';
import { LIFTED_BY_TIME, type StoredDecision } from '../../domain/decision.ts';
import { aboutText, type Exemption } from '../../domain/exemption.ts';
import type { Intent } from '../../domain/intent.ts';
import { notDelivered } from '../../domain/notice.ts';
import { saidText } from '../../domain/operator.ts';
import type { AuditReader, RecordReader } from '../../domain/store-ports.ts';
import type { HistoryLine } from '../../domain/why.ts';

// The exemptions in a history: when each began, and when and why it ended.

/** The fields whose value is one subject's or target's own. */
const OWN_FIELDS: ReadonlySet<string> = new Set(['DeviceID', 'SerialNumber', 'Email', 'ServiceID']);

function exemptionLines(
  exemptions: readonly Exemption[],
  identifiers: ReadonlySet<string>,
  nowMs: number,
): HistoryLine[] {
  const named = new Set([...identifiers].map((one) => one.toLowerCase()));
  return exemptions.filter((one) => named.has(namedBy(one))).flatMap((one) => [added(one), ...ended(one, nowMs)]);
}

function namedBy({ subject, selector }: Exemption): string {
  if (subject) return subject.id.toLowerCase();
  return selector && OWN_FIELDS.has(selector.field) ? selector.value.toLowerCase() : '';
}

function added(exemption: Exemption): HistoryLine {
  const { createdAt, createdBy, expiresAt, owner, reason } = exemption;
  const text = `${actorText(createdBy)} exempted ${aboutText(exemption)} until ${timeText(expiresAt)} (${owner} is responsible for it): ${reason}`;
  return line(exemption, createdAt, text, createdBy);
}

function ended(exemption: Exemption, nowMs: number): HistoryLine[] {
  const { endedAt, endedBy, endedReason, expiresAt } = exemption;
  const about = `the exemption of ${aboutText(exemption)}`;
  if (endedAt !== undefined)
    return [line(exemption, endedAt, `${actorText(endedBy ?? '')} ended ${about}: ${endedReason}`, endedBy)];
  return expiresAt <= nowMs ? [line(exemption, expiresAt, `${about} expired`, undefined)] : [];
}

function line({ id }: Exemption, at: number, text: string, by: string | undefined): HistoryLine {
  return { at, kind: 'exemption', text, action: undefined, target: undefined, rules: [], run: undefined, by, id };
}

export type HistoryReader = Pick<RecordReader, 'decisions' | 'newestIntents' | 'exemptions'> &
  Pick<AuditReader, 'audit'>;

/** A target, or subjects by their ids: their history is that of the targets that were decided about them. */
export type HistoryAbout = { target: string } | { subjectId: string } | { subjectIds: readonly string[] };

const TARGETS_MAX = 20;

/** The newest `limit` lines at most. Empty: nothing was ever decided or done about it. */
export async function historyOf(
  reader: HistoryReader,
  about: HistoryAbout,
  { limit, nowMs }: { limit: number; nowMs: number },
): Promise<HistoryLine[]> {
  const own = 'target' in about ? undefined : 'subjectId' in about ? [about.subjectId] : [...about.subjectIds];
  const query = 'target' in about ? about : { subjectIds: own ?? [] };
  const decisions = await reader.decisions({ ...query, limit });
  const targets = 'target' in about ? [about.target] : [...new Set(decisions.map(({ target }) => target))];
  const runs = new Map(decisions.map(({ runId, runSeq }) => [runId, runSeq]));
  const lines = decisions.map(decisionLine);
  for (const target of targets.slice(0, TARGETS_MAX)) {
    const entries = (await reader.audit({ target, limit })).map((entry): Read => ({ entry, body: entryBody(entry) }));
    const { rows } = await reader.newestIntents({ target }, limit);
    const intents = rows.filter((intent) => isBegun(intent) && isAbout(intent, own));
    lines.push(...intents.map((intent) => callLine(intent, runs.get(intent.runId), releaserOf(intent, entries))));
    const known = new Set(intents.map(({ id }) => id));
    lines.push(...personLines(entries.filter((entry) => entryIsAbout(entry, own, known))));
  }
  const subjects = new Set([...targets, ...(own ?? []), ...decisions.map(({ subject }) => subject.id)]);
  lines.push(...exemptionLines(await reader.exemptions(), subjects, nowMs));
  return lines.sort((one, other) => other.at - one.at).slice(0, limit);
}

function decisionLine(decision: StoredDecision): HistoryLine {
  const { id, writtenAt, rule, action, target, runSeq, reason, reasonText, outcome } = decision;
  const dry = outcome === 'dry_run' ? ' (dry run: nothing was called)' : '';
  const text = `${LIFTED_BY_TIME.has(reason) ? 'wait' : decision.decision} ${action} ${target}: ${reasonText}${dry}`;
  return { at: writtenAt, kind: 'decision', text, action, target, rules: [rule], run: runSeq, by: undefined, id };
}

/** A dry one called nothing, and the decision shows it. */
function isBegun({ outcome }: Intent): boolean {
  return outcome !== 'dry_run';
}

function isAbout({ basis }: Intent, subjects: readonly string[] | undefined): boolean {
  return subjects === undefined || basis.some((one) => subjects.includes(one.subjectId));
}

function callLine(intent: Intent, run: number | undefined, who: Who | undefined): HistoryLine {
  const { id, action, target, outcome, status, note, released, basis } = intent;
  const asked = released ? `, released${who ? ` by ${who.name}: ${who.reason}` : ' by a person'}` : '';
  return {
    at: intent.settledAt ?? intent.sentAt ?? intent.createdAt,
    kind: 'call',
    text: `${action} ${target}: ${outcome ?? status}${note === undefined ? '' : ` (${note})`}${asked}`,
    action,
    target,
    rules: [...new Set(basis.map(({ rule }) => rule))],
    run: released ? undefined : run,
    by: who?.by,
    id,
  };
}

interface Who {
  by: string;
  /** For people. */
  name: string;
  reason: string;
}

/** An audit entry with its body, as far as its members are texts. */
interface Read {
  entry: AuditEntry;
  body: Readonly<Record<string, unknown>>;
}

function textOf({ body }: Read, name: string): string | undefined {
  const value = body[name];
  return typeof value === 'string' ? value : undefined;
}

function whoOf(read: Read): Who | undefined {
  const by = textOf(read, 'by');
  const said = saidText({ reason: textOf(read, 'reason'), reference: textOf(read, 'reference') });
  return by === undefined ? undefined : { by, name: actorText(by), reason: said ?? 'no reason given' };
}

function releaserOf({ id, released }: Intent, entries: readonly Read[]): Who | undefined {
  const planned = entries.find(
    (read) => read.entry.kind === 'intent.planned' && read.body.intent === id && whoOf(read),
  );
  return released && planned ? whoOf(planned) : undefined;
}

function entryIsAbout(read: Read, subjects: readonly string[] | undefined, intents: ReadonlySet<string>): boolean {
  const { subject } = read.body;
  const id = typeof subject === 'object' ? (subject as { id?: string } | null)?.id : textOf(read, 'subject');
  const isOwn = subjects === undefined || subjects.includes(id ?? '');
  return isOwn || intents.has(textOf(read, 'intent') ?? '');
}

/** One line for what happened at once to several rules. */
function personLines(entries: readonly Read[]): HistoryLine[] {
  const lines = new Map<string, HistoryLine>();
  for (const read of entries) {
    const line = personLine(read);
    if (line === undefined) continue;
    const key = [line.at, line.kind, line.text].join('\u0000');
    const same = lines.get(key);
    lines.set(key, same ? { ...same, rules: [...new Set([...same.rules, ...line.rules])] } : line);
  }
  return [...lines.values()];
}

function personLine(read: Read): HistoryLine | undefined {
  const { entry } = read;
  const who = whoOf(read);
  const action = textOf(read, 'action') as ActionName | undefined;
  const target = textOf(read, 'target');
  const rule = textOf(read, 'rule');
  const line = { at: entry.at, action, target, rules: rule === undefined ? [] : [rule], run: undefined, by: who?.by };
  switch (entry.kind) {
    case 'episode.overridden': {
      const text = who
        ? `${who.name} released ${action} ${target}: ${who.reason}`
        : `somebody reversed ${action} ${target}${namedOf(read) ?? driftOf(read)}`;
      return {
        ...line,
        kind: 'reversal',
        text: `${text}; left alone until the rule no longer matches`,
        id: textOf(read, 'episode') ?? '',
      };
    }
    case 'claim.released':
      if (!who) return undefined; // the call that ended it has its own line
      return {
        ...line,
        kind: 'reversal',
        text: `${who.name} released ${action} ${target} without a call: ${who.reason}`,
        id: textOf(read, 'claim') ?? '',
      };
    case 'intent.resolved':
      return {
        ...line,
        kind: 'resolution',
        text: `${who?.name} resolved ${action} ${target} as ${textOf(read, 'as')}: ${who?.reason}`,
        id: textOf(read, 'intent') ?? '',
      };
    case 'exemption.requested':
    case 'exemption.request_granted':
    case 'exemption.request_refused': {
      const how = entry.kind === 'exemption.request_granted' ? 'granted' : 'refused';
      const text =
        entry.kind === 'exemption.requested'
          ? `${who?.name} asked for an exemption: ${who?.reason}`
          : `${who?.name} ${how} the exemption that ${textOf(read, 'person')} asked for: ${textOf(read, 'say')}`;
      return { ...line, kind: 'exemption', text, id: textOf(read, 'request') ?? '' };
    }
    case 'notice.begun':
    case 'notice.sending':
      return undefined; // its end has a line
    default:
      return entry.kind.startsWith('notice.') ? { ...line, kind: 'notice', text: noticeText(read), id: '' } : undefined;
  }
}

function noticeText(read: Read): string {
  const { entry, body } = read;
  const what = textOf(read, 'stage') === 'reminder' ? 'reminder' : 'notice';
  const to = textOf(read, 'to');
  const why = textOf(read, 'why') ?? '';
  if (entry.kind === 'notice.delivered')
    return `${to} was sent a ${what}: it acts not before ${timeText(Number(body.dueAt))}`;
  if (entry.kind === 'notice.mended')
    return `mended before the deadline (${timeText(Number(body.dueAt))}): nothing was done`;
  if (entry.kind === 'notice.cancelled') return `the notice no longer counts: ${why}`;
  return `the ${what} to ${to} ${notDelivered(textOf(read, 'how'))}: ${why}`;
}

/** ` and did it again: by the event log, unban_device (2026-11-27 10:00:00Z, event e1, ana@example.org), then …`. */
function namedOf({ body }: Read): string | undefined {
  if (!Array.isArray(body.events)) return undefined;
  const acts = (body.events as { event?: unknown; at?: unknown; action?: unknown; by?: unknown }[]).map((one) => {
    const by = typeof one.by === 'string' ? `, ${one.by}` : '';
    return `${one.action} (${timeText(Number(one.at))}, event ${one.event}${by})`;
  });
  return ` and did it again: by the event log, ${acts.join(', then ')}`;
}

/** `: Banned is false, and was true`. */
function driftOf({ body }: Read): string {
  const { field, found, expected } = (body.drift ?? {}) as { field?: unknown; found?: unknown; expected?: unknown };
  if (typeof field !== 'string' || field === '' || found === undefined || found === null) return '';
  return `: ${field} is ${String(found)}, and was ${String(expected)}`;
}
