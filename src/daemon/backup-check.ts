// The check `backup` of `/readyz`. In: the state of the daemon's backups. Out: a check. It is public: it names no file, and what failed is
// left to the log.
import type { BackupSettings } from '../config/backup.ts';
import { spanText } from '../domain/age-text.ts';
import { formatDuration } from '../domain/duration.ts';
import { timeText } from '../domain/time-text.ts';
import type { ReadyCheck } from '../http/index.ts';
import type { BackupState } from './backups.ts';

export function backupCheck({ last, fault, isLate }: BackupState, settings: BackupSettings, nowMs: number): ReadyCheck {
  const good =
    last === undefined ? 'no good one yet' : `last good one ${timeText(last.atMs)}, ${spanText(nowMs - last.atMs)} ago`;
  const kept = `every ${formatDuration(settings.everyMs)}, ${settings.keep} kept; ${good}`;
  const wrong = fault ? `fails since ${timeText(fault.since)} (see the log); ` : isLate ? 'overdue; ' : '';
  return { name: 'backup', ok: wrong === '', text: `${wrong}${kept}` };
}
