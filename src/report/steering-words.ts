// report: what a run saw of people's steering, as the JSON report has it and as sentences for the summary.
// In: a stored run. Out: plain text that may hold hostile names: each writer escapes it for its own medium.
import type { RunRecord } from '../domain/store.ts';
import { isoTime } from '../domain/time-text.ts';
import type { ReportSteering } from './report.ts';

export function steeringView(run: RunRecord): ReportSteering {
  const { stop, ending, unused, accepted } = run.findings?.steering ?? {};
  return {
    stopped: stop ? { at: isoTime(stop.at), by: stop.by, reason: stop.reason } : null,
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

/** One sentence for each thing that a reader has to know; none when nothing was said. */
export function steeringWords({ stopped, exemptionsEnding, exemptionsUnused, accepted }: ReportSteering): string[] {
  return [
    ...(stopped ? [`STOPPED by ${stopped.by} at ${stopped.at} (${stopped.reason}): nothing is called.`] : []),
    ...accepted.map(({ source, by, reason, overrode, refused }) =>
      refused === null
        ? `${by} accepted this reading of ${source} (${reason}), although: ${overrode.map(({ text }) => text).join('; ')}.`
        : `The acceptance of ${source} by ${by} was used up without effect: ${refused}.`,
    ),
    ...exemptionsEnding.map(
      ({ id, about, owner, expiresAt }) => `Exemption ${id} of ${about} (${owner}) ends at ${expiresAt}.`,
    ),
    ...exemptionsUnused.map(
      ({ id, about, owner, createdAt }) =>
        `Exemption ${id} of ${about} (${owner}) never stood in the way of anything since ${createdAt}.`,
    ),
  ];
}
