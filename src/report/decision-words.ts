// report: one decision in plain words, for Markdown and terminal alike: who, why, since when, and the outcome. In: a
// decision. Out: plain text that may hold hostile names: each writer escapes it for its own medium.
import type { KnownTraits } from '../domain/action.ts';
import type { EffectDevice } from '../domain/effect.ts';
import { actKindOf } from './act-kind.ts';
import type { ReportDecision, RunDecision } from './report.ts';
import { timeCell } from './time-words.ts';

/** Devices that the action affects beside its subject: several may share its serial number. */
export function alsoTouched({ effect, subject }: ReportDecision): EffectDevice[] {
  return effect.devices.filter((device) => subject.kind !== 'device' || device.id !== subject.id);
}

type OnTarget = Pick<ReportDecision, 'subject' | 'target' | 'action'>;

/** What the targets of one rule and action are: a ban hits a serial number, not a device. An earlier version's action is not known. */
export function targetNoun(decisions: readonly OnTarget[], actions?: KnownTraits): string {
  for (const decision of decisions) {
    const shown = nounShown(decision);
    if (shown !== undefined) return shown;
  }
  return actions?.get(decisions[0]?.action ?? '')?.target.noun ?? 'Target';
}

/** Whether `targetNoun` needs the actions: the record does not show what a target is. */
export function namesOwnTarget(decision: OnTarget): boolean {
  return decision.target !== decision.subject.id && nounShown(decision) === undefined;
}

function nounShown({ subject, target }: OnTarget): string | undefined {
  if (subject.kind === 'device' && target === subject.serial) return 'Serial number';
  return subject.kind === 'user' && target.endsWith(` ${subject.id}`) ? 'Serial number and user' : undefined;
}

/** `succeeded 2026-11-21 09:37:02Z: Success`; an act without an outcome shows how far it got. */
export function outcomeWords(decision: RunDecision): string {
  const { outcome, outcomeText, intent } = decision;
  const at = intent?.settledAt ?? intent?.sentAt ?? null;
  const name = outcome ?? (intent?.status === 'sent' ? 'sent, not answered yet' : 'not done yet');
  if (outcome === 'dry_run') return 'dry run';
  return [name, ...(at === null ? [] : [` ${timeCell(at)}`]), ...(outcomeText ? [`: ${outcomeText}`] : [])].join('');
}

/** A dry run does not act. */
export function decisionWords(decision: ReportDecision): string {
  const kind = actKindOf(decision);
  return kind === 'would' ? 'would act' : kind === 'reported' ? 'only reported' : decision.decision;
}

/** `rule mode enforce, lowered to dry-run by the run`. */
export function capWordsOf({ mode, cappedBy }: ReportDecision): string | undefined {
  if (cappedBy === null) return undefined;
  // `daemon` is TRUSTWARD_MODE, also of a run without a daemon.
  return `lowered to mode ${mode}${cappedBy === 'run' ? ' by the run' : ': no more was allowed'}`;
}

/** The run that wrote a decision that is still in force. */
export function unchangedWords({ unchanged, runSeq, writtenAt }: RunDecision): string | undefined {
  return unchanged ? `decided in run ${runSeq}, ${timeCell(writtenAt)}` : undefined;
}
