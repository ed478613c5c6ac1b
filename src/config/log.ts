// Configuration: the log. In: the configuration's reader. Out: how much is logged, and in which form.
import { LOG_LEVELS, type LogOptions } from '../system/log.ts';
import type { ConfigReader } from './reader.ts';

export type LogSettings = Pick<LogOptions, 'level' | 'form'>;

export function readLog(reader: ConfigReader): LogSettings {
  return {
    level: reader.choice('TRUSTWARD_LOG_LEVEL', LOG_LEVELS, 'info'),
    form: reader.choice('TRUSTWARD_LOG_FORMAT', ['json', 'plain'], process.stderr.isTTY ? 'plain' : 'json'),
  };
}
