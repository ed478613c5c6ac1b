// The check `history` of `/readyz`. In: the state of the recorder. Out: a check, which is never a failed one: runs go on without a history. It is
// public: why a run could not be recorded is left to the log.
import { timeText } from '../domain/time-text.ts';
import type { RecorderState } from '../history/record/run-recorder.ts';
import type { ReadyCheck } from '../http/index.ts';
import { plural } from '../report/index.ts';

export function historyCheck({ fault, recorded, lost }: RecorderState): ReadyCheck {
  const counted = `since the start ${plural(recorded, 'run')} recorded${lost > 0 ? `, ${lost} not` : ''}`;
  const wrong = fault ? `degraded: runs are not recorded since ${timeText(fault.sinceMs)} (see the log); ` : '';
  return { name: 'history', ok: true, text: `${wrong}${counted}` };
}
