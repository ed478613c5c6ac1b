// system: the log: one JSON object per line on standard error, or plain lines for a person at a terminal. Secrets do
// not get here: they are dropped before anything is stored, logged or evaluated; the scrubber is the second net.
import { pino } from 'pino';
import { DROPPED } from '../../base/secret-texts.ts';
import { isoTime } from '../../base/time.ts';
import type { Log } from '../../domain/ports.ts';
import { isSecretName } from '../../domain/secrets.ts';
import { systemClock } from './clock.ts';
import { coloured, showsColour, statusLine } from './process.ts';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LogOptions {
  level: LogLevel;
  /** `plain`: time, level and message, for a terminal. */
  form: 'json' | 'plain';
  /** Whose lines they are, where a process works for several. */
  organization?: string | undefined;
}

export function systemLog({ level, form, organization }: LogOptions): Log {
  if (form === 'plain') return plainLog(level, organization);
  const logger = pino(
    {
      level,
      base: organization === undefined ? undefined : { organization },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    pino.destination({ dest: 2, sync: true }),
  );
  const write = (name: 'debug' | 'info' | 'warn' | 'error') => (fields: object, message: string) =>
    logger[name](scrub(fields) as object, message);
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

function plainLog(level: LogLevel, organization?: string): Log {
  const whose = organization === undefined ? '' : `${organization}: `;
  const floor = LOG_LEVELS.indexOf(level);
  const shown = showsColour(process.stderr, process.env) ? coloured : (line: string) => line;
  const write = (name: LogLevel) => (_fields: object, message: string) => {
    if (LOG_LEVELS.indexOf(name) < floor) return;
    const line = `${isoTime(systemClock.nowMs()).slice(11, 19)} ${name.padEnd(5)} ${whose}${printable(message)}`;
    statusLine.clear();
    process.stderr.write(`${shown(line)}\n`);
  };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

/** Names come from devices and are hostile: no control character reaches the terminal. */
function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
}

function scrub(value: unknown, depth = 0): unknown {
  if (depth > 6 || typeof value !== 'object' || value === null)
    return typeof value === 'bigint' ? String(value) : value;
  if (Array.isArray(value)) return value.map((item) => scrub(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, isSecretName(key) ? DROPPED : scrub(member, depth + 1)]),
  );
}
