// Sources and signals: what the files `sources.yaml` and `signals.yaml` at the top of a folder of rules have in common: both name others by addresses, files and secrets,
// and are read before the rules. In: texts of files. Out: what they name, or what is wrong. Secrets are not in them: they name where these are.
import { basename } from 'node:path';
import { z } from 'zod';
import { formatDuration, parseDuration } from '../../base/time.ts';
import type { SecretPlace } from '../../domain/secrets.ts';
import { checkedBy, type Place, Problems, type RuleProblem } from '../language/problem.ts';
import { readRuleText } from './rule-text.ts';

export const text = z.string().trim().min(1).max(1_000);

export const duration = (min: number, max: number) =>
  z.string().transform((written, context) => {
    const ms = parseDuration(written);
    if (ms !== undefined && ms >= min && ms <= max) return ms;
    context.addIssue(`expected ${formatDuration(min)} to ${formatDuration(max)}, such as 1h, found \`${written}\``);
    return z.NEVER;
  });

export const addressOf = (protocols: RegExp) =>
  text.refine((address) => {
    const at = URL.canParse(address) ? new URL(address) : undefined;
    return at !== undefined && protocols.test(at.protocol) && !at.username && !at.password && !at.hash;
  }, 'expected an address that begins with https://, without user name, password or #');

/** Below a folder that the process is set to: never out of it. `folder` and `example`: in words. */
export const fileBelow = (folder: string, example: string) =>
  text.refine(
    (path) => !/[\\\p{C}]/u.test(path) && path.split('/').every((part) => !/^(\.\.?)?$/.test(part)),
    `expected a file below ${folder}, such as \`${example}\`, without \`..\``,
  );

/** Other variables of the process are nobody's business. */
export const variableOf = (prefix: string, example: string) =>
  z
    .string()
    .regex(
      new RegExp(`^${prefix}[A-Z0-9_]{1,90}$`),
      `expected a name that begins with ${prefix}, such as ${prefix}${example}`,
    );

interface WrittenPlace {
  file?: string | undefined;
  env?: string | undefined;
}

export const ONE_OF = 'expected `file` or `env`, one of them';
export const hasOne = ({ file, env }: WrittenPlace) => (file === undefined) !== (env === undefined);
export const secretPlace = ({ file, env = '' }: WrittenPlace): SecretPlace => (file === undefined ? { env } : { file });

export type SetFiles = Iterable<readonly [file: string, text: string | RuleProblem, inFolder?: string]>;

interface NamedFile<Written, Noun> {
  /** The name of the file, without its ending. */
  file: string;
  /** Its one member. */
  member: string;
  noun: string;
  /** That no name comes twice. */
  unique: string;
  most: number;
  form: z.ZodType<Written>;
  /** What a member may have been meant. */
  members: readonly string[];
  /** Undefined: `fault` was called, and it counts for nothing. */
  made(name: string, written: Written, fault: (place: Place, message: string) => void): Noun | undefined;
}

export function isNamedFile(file: string, name: string): boolean {
  return basename(file).startsWith(`${name}.`);
}

/** Of several folders, together. Never throws. */
export function readNamed<Written, Noun>(
  files: SetFiles,
  { file: name, member, noun, unique, most, form, members, made }: NamedFile<Written, Noun>,
): { named: Noun[]; problems: RuleProblem[] } {
  const schema = z.strictObject({
    [member]: z.record(
      z.string().regex(/^[a-z][a-z0-9_-]{0,49}$/, 'expected lower-case letters, digits, _ and -'),
      form,
    ),
  });
  const named = new Map<string, Noun>();
  const list: RuleProblem[] = [];
  for (const [file, content, inFolder] of files) {
    // Misplaced and unreadable ones are reported with the guards.
    if (!isNamedFile(file, name) || typeof content !== 'string' || inFolder?.includes('/')) continue;
    const read = readRuleText(content, file.endsWith('.json'), `set of ${member}`);
    if ('faults' in read) {
      list.push(...read.faults.map((fault) => ({ file, ...fault })));
      continue;
    }
    const problems = new Problems(file, read.positionOf);
    const written = read.value === null ? undefined : checkedBy(schema, read.value, { what: name, members }, problems);
    for (const [key, one] of Object.entries(written?.[member] ?? {})) {
      const found = made(key, one, (place, message) =>
        problems.add('value', [member, key, ...place], `\`${member}.${key}\`: ${message}`),
      );
      if (named.has(key))
        problems.add('duplicate_id', [member, key], `there is a ${noun} \`${key}\` already; ${unique}`);
      else if (found) named.set(key, found);
    }
    if (named.size > most) problems.add('too_large', [member], `at most ${most} ${member}, found ${named.size}`);
    list.push(...problems.list);
  }
  return { named: [...named.values()], problems: list };
}
