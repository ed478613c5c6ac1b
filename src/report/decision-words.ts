// report: one decision in plain words, for Markdown and terminal alike: who, why, since when, what came of it.
// In: a decision. Out: plain text that may hold hostile names: each writer escapes it for its own medium.
import type { KnownTraits } from '../domain/action.ts';
import type { ReportDecision, RunDecision } from './report.ts';
import { timeCell } from './words.ts';

/** `Ana's laptop (7d2f…)`, or the id alone. */
export function subjectWords({ subject }: ReportDecision): string {
  return subject.name === '' || subject.name === subject.id ? subject.id : `${subject.name} (${subject.id})`;
}

/** Devices that the action touches beside its subject: a serial number may be that of several. */
export function alsoTouched({ effect, subject }: ReportDecision): string[] {
  return effect.devices
    .filter((device) => subject.kind !== 'device' || device.id !== subject.id)
    .map((device) => (device.name === '' ? device.id : `${device.name} (${device.id})`));
}

/** Name and id on lines of their own, for a column. */
export function subjectLines({ subject }: ReportDecision): string[] {
  return subject.name === '' || subject.name === subject.id ? [subject.id] : [subject.name, subject.id];
}

/** What the action calls its target: a ban hits a serial number, not a device. An earlier version's action is not known. */
export function targetNoun({ subject, action }: ReportDecision, actions?: KnownTraits): string {
  return actions?.get(action)?.target.noun(subject.kind) ?? 'Target';
}

/** `succeeded 2026-11-21 09:37:02Z: Success`; an act without an outcome says how far it got. */
export function outcomeWords(decision: RunDecision): string {
  const { outcome, outcomeText, intent } = decision;
  const at = intent?.settledAt ?? intent?.sentAt ?? null;
  const name = outcome ?? (intent?.status === 'sent' ? 'sent, not answered yet' : 'not carried out yet');
  if (outcome === 'dry_run') return 'dry run';
  return [name, ...(at === null ? [] : [` ${timeCell(at)}`]), ...(outcomeText ? [`: ${outcomeText}`] : [])].join('');
}

/** `rule mode enforce, lowered to dry-run by the run`. */
export function capWordsOf({ mode, cappedBy }: ReportDecision): string | undefined {
  return cappedBy === null ? undefined : `lowered to mode ${mode} by the ${cappedBy}`;
}

/** Which run wrote a decision that still stands. */
export function unchangedWords({ unchanged, runSeq, writtenAt }: RunDecision): string | undefined {
  return unchanged ? `decided in run ${runSeq}, ${timeCell(writtenAt)}` : undefined;
}
