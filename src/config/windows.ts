// Configuration: change windows and quiet hours. In: the reader of names and values. Out: the windows, or a fault for each that is wrong.
import type { ChangeWindow } from '../domain/change-window.ts';
import { parseWindows } from '../domain/parse-windows.ts';
import { isTimeZone } from '../domain/wall-time.ts';
import { ConfigReader, type Environment } from './reader.ts';

export interface WindowSettings {
  /** In these nothing acts; undoing is never held. */
  freeze: readonly ChangeWindow[];
  /** In these alerts wait. */
  quietHours: readonly ChangeWindow[];
}

/** For a command that reads nothing else of the configuration. Errors: AppError `config`. */
export function readChangeWindows(env: Environment): readonly ChangeWindow[] {
  const reader = new ConfigReader(env);
  const { freeze } = readWindowSettings(reader);
  reader.finish();
  return freeze;
}

export function readWindowSettings(reader: ConfigReader): WindowSettings {
  const given = reader.text('TRUSTWARD_TIME_ZONE') ?? 'UTC';
  const isZone = isTimeZone(given);
  if (!isZone)
    reader.fault(
      'TRUSTWARD_TIME_ZONE',
      `TRUSTWARD_TIME_ZONE is \`${given}\`: expected a time zone such as Europe/Berlin`,
    );
  const timeZone = isZone ? given : 'UTC';
  const windowsOf = (name: string) => {
    const { windows, faults } = parseWindows(reader.text(name), timeZone);
    for (const fault of faults) reader.fault(name, `${name}: ${fault}`);
    return windows;
  };
  return { freeze: windowsOf('TRUSTWARD_FREEZE'), quietHours: windowsOf('TRUSTWARD_QUIET_HOURS') };
}
