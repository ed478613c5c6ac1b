// report: the operator commands that a run saw, as the JSON report has them and as sentences for the summary. In: a
// stored run. Out: plain text that may hold hostile names: each writer escapes it for its own medium.
import { type Stop, silenceText } from '../domain/operator.ts';
import type { RunRecord } from '../domain/store.ts';
import { isoTime } from '../domain/time-text.ts';
import { changeWindowView, heldWords } from './change-window-view.ts';
import { isoOrNull } from './iso-or-null.ts';
import { stopView } from './operator-view.ts';
import type { ReportOperatorState } from './report.ts';
import { timeWords } from './time-words.ts';

export function operatorView(run: RunRecord, stopNow: Stop | undefined, frozen: number): ReportOperatorState {
  const { silentSince, stop, freeze, ending, unused, accepted } = run.findings?.operator ?? {};
  return {
    silentSince: isoOrNull(silentSince),
    stopped: stop ? stopView(stop) : null,
    stoppedNow: stopNow ? stopView(stopNow) : null,
    changeWindow: freeze ? { ...changeWindowView(freeze), held: frozen } : null,
    exemptionsEnding: (ending ?? []).map(({ expiresAt, ...head }) => ({ ...head, expiresAt: isoTime(expiresAt) })),
    exemptionsUnused: (unused ?? []).map(({ createdAt, ...head }) => ({ ...head, createdAt: isoTime(createdAt) })),
    accepted: (accepted ?? []).map(({ source, by, reason, overrode, refused }) => ({
      source,
      by,
      reason,
      overrode,
      refused: refused ?? null,
    })),
  };
}

/** One sentence for each thing that a reader has to know; none without operator commands. */
export function operatorWords(operator: ReportOperatorState): string[] {
  const { exemptionsEnding, exemptionsUnused, accepted } = operator;
  return [
    ...(operator.silentSince === null
      ? []
      : [`This was a DRY RUN: ${silenceText(Date.parse(operator.silentSince))}. The next run is an ordinary one.`]),
    ...stopWords(operator),
    ...changeWindowWords(operator),
    ...accepted.map(({ source, by, reason, overrode, refused }) =>
      refused === null
        ? `${by} accepted this reading of ${source} (${reason}), which overruled: ${overrode.map(({ text }) => text).join('; ')}.`
        : `The acceptance of ${source} by ${by} was used up without effect: ${refused}.`,
    ),
    ...exemptionsEnding.map(
      ({ id, about, owner, expiresAt }) => `Exemption ${id} of ${about} (${owner}) ends at ${timeWords(expiresAt)}.`,
    ),
    ...exemptionsUnused.map(
      ({ id, about, owner, createdAt }) =>
        `Exemption ${id} of ${about} (${owner}) has matched nothing since ${createdAt}.`,
    ),
  ];
}

function changeWindowWords({ changeWindow }: ReportOperatorState): string[] {
  if (!changeWindow) return [];
  const { window, endsAt, endsAtLocal, held } = changeWindow;
  const waits = held === 0 ? 'it holds nothing of this run' : heldWords(held);
  return [`CHANGE WINDOW (${window}) until ${endsAtLocal} (${timeWords(endsAt)}): ${waits}. Undoing goes on.`];
}

/** The stop that the run saw, and the current one: either may have begun or ended since the run. */
function stopWords({ stopped, stoppedNow }: ReportOperatorState): string[] {
  const lasts = stopped !== null && stopped.at === stoppedNow?.at;
  return [
    ...(stopped && !lasts
      ? [
          `This run was STOPPED by ${stopped.by} at ${timeWords(stopped.at)} (${stopped.reason}), which has been lifted since.`,
        ]
      : []),
    ...(stoppedNow
      ? [
          `STOPPED by ${stoppedNow.by} at ${timeWords(stoppedNow.at)} (${stoppedNow.reason}): nothing is called until it is resumed.`,
        ]
      : []),
  ];
}
