// metrics: counts what commits record. In: the notes of each commit, in memory. Out: counters. It reads no database, and gives way in a
// commit of many thousands.
import { AUDIT_KINDS, type AuditNote, familyOf } from '../domain/audit-entry.ts';
import type { Fact } from '../domain/facts.ts';
import { giveWay } from '../domain/give-way.ts';
import type { Metrics } from './registry.ts';

/** A millisecond or so. */
const NOTES_OF_TURN = 2_000;

export class NoteCounts {
  private readonly waiting: (readonly AuditNote[])[] = [];
  private isCounting = false;
  /** Modes and triggers of runs that have begun, by their ids. */
  private readonly begun = new Map<string, { mode: string; trigger: string }>();

  /** `isRule`: whether a rule of this id is loaded. Another one is counted without its name: names of files that are gone add up. */
  constructor(
    private readonly metrics: Metrics,
    private readonly isRule: (id: string) => boolean,
  ) {
    // A counter that appears with its first count shows no increase.
    for (const kind of AUDIT_KINDS)
      if (familyOf(kind) === 'plan') metrics.count('trustward_plan_changes_total', { change: lastPart(kind) }, 0);
    for (const result of ['delivered', 'given_up']) metrics.count('trustward_notifications_total', { result }, 0);
  }

  /** Returns at once. */
  add(notes: readonly AuditNote[]): void {
    if (!this.isCounting && notes.length <= NOTES_OF_TURN) this.countAll(notes);
    else this.waiting.push(notes);
    if (!this.isCounting && this.waiting.length > 0) void this.countInTurns().catch(() => {}); // what it has not counted is lost
  }

  private async countInTurns(): Promise<void> {
    this.isCounting = true;
    try {
      for (let notes = this.waiting.shift(); notes; notes = this.waiting.shift()) {
        for (let at = 0; at < notes.length; at += NOTES_OF_TURN) {
          this.countAll(notes.slice(at, at + NOTES_OF_TURN));
          await giveWay();
        }
      }
    } finally {
      this.isCounting = false;
    }
  }

  private countAll(notes: readonly AuditNote[]): void {
    const alike = new Map<string, { note: AuditNote; count: number }>();
    for (const note of notes) {
      const key = keyOf(note);
      const found = alike.get(key);
      if (found) found.count += 1;
      else alike.set(key, { note, count: 1 });
    }
    for (const { note, count } of alike.values()) this.count(note, count);
  }

  private count({ kind, body }: AuditNote, count: number): void {
    const { metrics } = this;
    const text = (name: string) => textOf(body[name]);
    metrics.count('trustward_audit_entries_total', { family: familyOf(kind) }, count);
    switch (kind) {
      case 'decision.made': {
        const rule = this.ruleOf(text('rule'));
        const labels = { rule, decision: text('answer'), reason: text('reason') };
        metrics.count('trustward_decisions_total', labels, count);
        break;
      }
      case 'intent.sent':
        metrics.count('trustward_attempts_total', { action: text('action') }, count);
        break;
      case 'intent.settled':
        metrics.count('trustward_outcomes_total', { action: text('action'), outcome: text('outcome') }, count);
        break;
      case 'intent.dry':
        metrics.count('trustward_outcomes_total', { action: text('action'), outcome: 'dry_run' }, count);
        break;
      case 'intent.withdrawn':
        metrics.count('trustward_withdrawn_total', { action: text('action'), reason: text('reason') }, count);
        break;
      case 'alert.raised':
        metrics.count('trustward_alerts_raised_total', { alert: text('code') }, count);
        break;
      case 'notification.delivered':
      case 'notification.given_up':
        metrics.count('trustward_notifications_total', { result: lastPart(kind) }, count);
        break;
      case 'source.untrusted':
        this.countReasons(text('source'), body.reasons);
        break;
      case 'run.started':
        this.begin(text('run'), { mode: text('mode'), trigger: text('trigger') });
        break;
      case 'run.finished':
      case 'run.aborted':
        this.end(text('run'), kind === 'run.finished' ? 'completed' : 'aborted');
        break;
      default:
        if (familyOf(kind) === 'plan') metrics.count('trustward_plan_changes_total', { change: lastPart(kind) }, count);
    }
  }

  private countReasons(source: string, reasons: Fact | undefined): void {
    for (const each of Array.isArray(reasons) ? reasons : []) {
      const reason = textOf((each as { code?: Fact }).code);
      this.metrics.count('trustward_source_untrusted_total', { source, reason });
    }
  }

  private begin(run: string, of: { mode: string; trigger: string }): void {
    // One is under way at a time: others could not record their end.
    this.begun.clear();
    this.begun.set(run, of);
  }

  /** A run of a process before this one ends without its beginning. */
  private end(run: string, status: string): void {
    const { mode, trigger } = this.begun.get(run) ?? { mode: 'unknown', trigger: 'unknown' };
    this.begun.delete(run);
    this.metrics.count('trustward_runs_total', { mode, trigger, status });
  }

  private ruleOf(id: string): string {
    return this.isRule(id) ? id : '(not loaded)';
  }
}

/** Notes of one key count the same. */
function keyOf({ kind, body }: AuditNote): string {
  switch (kind) {
    case 'decision.made':
      return `${kind} ${textOf(body.rule)} ${textOf(body.answer)} ${textOf(body.reason)}`;
    case 'source.untrusted':
      return `${kind} ${textOf(body.source)} ${textOf(body.run)}`;
    case 'alert.raised':
      return `${kind} ${textOf(body.code)}`;
    default:
      if (familyOf(kind) === 'run') return `${kind} ${textOf(body.run)}`;
      return `${kind} ${textOf(body.action)} ${textOf(body.outcome)} ${textOf(body.reason)}`;
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : 'unknown';
}

function lastPart(kind: string): string {
  return kind.slice(kind.indexOf('.') + 1);
}
