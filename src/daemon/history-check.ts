// The check `history` of `/readyz`, and the alert of the same name. In: the state of the recorder. Out: a check, which is never a failed one: runs go
// on without a history. It is public: why a run could not be recorded is left to the log and the alert.

import type { Composition } from '../compose/compose.ts';
import type { Alert } from '../domain/notification.ts';
import { isoTime, timeText } from '../domain/time-text.ts';
import type { RecorderState } from '../history/record/run-recorder.ts';
import type { ReadyCheck } from '../http/index.ts';
import { plural } from '../report/index.ts';

export function historyCheck({ fault, recorded, lost }: RecorderState): ReadyCheck {
  const counted = `since the start ${plural(recorded, 'run')} recorded${lost > 0 ? `, ${lost} not` : ''}`;
  const wrong = fault ? `degraded: runs are not recorded since ${timeText(fault.sinceMs)} (see the log); ` : '';
  return { name: 'history', ok: true, text: `${wrong}${counted}` };
}

export function alertOfHistory({ history, notifications }: Composition): void {
  if (history) notifications.alsoAlert(() => historyAlerts(history));
}

/** One while it lasts. */
function historyAlerts({ fault, lost }: RecorderState): Alert[] {
  if (!fault) return [];
  const text = `runs are not recorded in the history since ${timeText(fault.sinceMs)}: ${fault.text}`;
  return [{ key: 'history', code: 'history', text, about: { fault: fault.text, since: isoTime(fault.sinceMs), lost } }];
}
