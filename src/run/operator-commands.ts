// run: the operator commands that a run sees, for its report, its audit and its log: the stop switch, exemptions that
// end soon or were never used, accepted readings. It decides nothing: decide/ and act/ do.
import type { AuditNote } from '../domain/audit-entry.ts';
import { freezeText, windowAt } from '../domain/change-window.ts';
import { aboutText, type Exemption, type ExemptionSettings, isEnding, isUnused } from '../domain/exemption.ts';
import { type RunOperatorState, silenceText, stopText, type UsedAcceptance } from '../domain/operator.ts';
import type { Log } from '../domain/ports.ts';
import type { Run } from '../domain/run.ts';
import type { OpenState } from '../domain/store.ts';
import { timeText } from '../domain/time-text.ts';
import type { EngineSettings } from './engine.ts';
import type { PulledSnapshot } from './pulled-snapshot.ts';

export const EXEMPTIONS_DEFAULT: ExemptionSettings = { warnMs: 86_400_000, unusedMs: 30 * 86_400_000 };

export interface OperatorStateSeen {
  operator: RunOperatorState;
  /** Exemptions whose coming end is announced for the first time. */
  warned: string[];
  notes: AuditNote[];
}

type SeenBy = Pick<EngineSettings, 'exemptions' | 'freeze'>;

export function operatorStateSeen(
  run: Pick<Run, 'id' | 'startedAt' | 'silentSince'>,
  openState: Pick<OpenState, 'exemptions' | 'stop'>,
  pulled: Pick<PulledSnapshot, 'accepted'>,
  { exemptions: settings = EXEMPTIONS_DEFAULT, freeze: windows = [] }: SeenBy,
): OperatorStateSeen {
  const now = run.startedAt;
  const all = openState.exemptions ?? [];
  const ending = all.filter((exemption) => isEnding(exemption, settings, now));
  const unused = all.filter((exemption) => isUnused(exemption, settings, now));
  const fresh = ending.filter(({ warnedAt }) => warnedAt === undefined);
  return {
    operator: {
      silentSince: run.silentSince,
      stop: openState.stop,
      freeze: windowAt(windows, now),
      ending: ending.map((exemption) => ({ ...headOf(exemption), expiresAt: exemption.expiresAt })),
      unused: unused.map((exemption) => ({ ...headOf(exemption), createdAt: exemption.createdAt })),
      accepted: pulled.accepted,
    },
    warned: fresh.map(({ id }) => id),
    notes: [
      ...pulled.accepted.map((used) => acceptanceNote(run.id, used)),
      ...fresh.map((exemption): AuditNote => {
        const { id, expiresAt } = exemption;
        return { kind: 'exemption.ending', body: { exemption: id, run: run.id, expiresAt, usedAt: exemption.usedAt } };
      }),
    ],
  };
}

function headOf(exemption: Exemption): { id: string; about: string; owner: string } {
  return { id: exemption.id, about: aboutText(exemption), owner: exemption.owner };
}

/** Only one that applied makes a baseline; one that did not is used up all the same. */
function acceptanceNote(run: string, { source, by, reason, overrode, refused }: UsedAcceptance): AuditNote {
  const reasons = overrode.map(({ code, text }) => ({ code, text }));
  return refused === undefined
    ? { kind: 'baseline.accepted', body: { run, source, by, reason, overrode: reasons } }
    : { kind: 'notice', body: { run, source, by, text: `the acceptance was used up without effect: ${refused}` } };
}

/** One line each: a stop in every run that it holds back, everything else once. */
export function logOperatorState(log: Log, run: Pick<Run, 'id'>, { operator, warned }: OperatorStateSeen): void {
  if (operator.silentSince !== undefined) log.warn({ run: run.id }, `a dry run: ${silenceText(operator.silentSince)}`);
  if (operator.stop) log.warn({ run: run.id }, `nothing is called: ${stopText(operator.stop)}`);
  if (operator.freeze) log.warn({ run: run.id }, `nothing acts: ${freezeText(operator.freeze)}`);
  for (const { id, about, owner, expiresAt } of operator.ending) {
    if (!warned.includes(id)) continue;
    log.warn({ run: run.id, exemption: id, owner }, `the exemption of ${about} ends at ${timeText(expiresAt)}`);
  }
  for (const { source, refused } of operator.accepted) {
    const what = refused === undefined ? 'is the new baseline' : `was not accepted: ${refused}`;
    log.warn({ run: run.id, source }, `the present reading of ${source} ${what}`);
  }
}
