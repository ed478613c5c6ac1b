// commands: whether a command shows how far it is: at a terminal whose log has lines for a person.
import type { Config } from '../config/config.ts';
import type { Progress } from '../domain/progress.ts';
import { statusLine } from '../system/status-line.ts';
import type { Io } from './io.ts';

export function progressOf(io: Io, { log }: Pick<Config, 'log'>): Progress | undefined {
  return log.form === 'plain' ? statusLine.progress(io.env) : undefined;
}
