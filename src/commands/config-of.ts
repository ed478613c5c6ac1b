// commands: the whole configuration of a command: the environment, and its options, which win. Apart from io.ts, since it loads
// much and few commands need it.
import { type Config, readConfig } from '../config/config.ts';
import type { Flags } from '../config/database-path.ts';
import { flagsOf, type Io } from './io.ts';

/** Errors: AppError `config` with every mistake, one per line. */
export function configOf(io: Io, options: Flags): Config {
  return readConfig(io.env, flagsOf(options));
}
