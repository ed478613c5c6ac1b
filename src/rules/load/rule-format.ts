// rules: the format of a rule file as a zod schema, the JSON Schema made from it, and what is wrong with it in plain words.
// In: a file's value. Out: the fields with their defaults, or what is wrong and where. The condition is checked elsewhere.
import { z } from 'zod';
import { LIMITS_DEFAULT, MODES } from '../../domain/rule.ts';
import { SEVERITIES, SUBJECT_KINDS } from '../../domain/subjects.ts';
import { VERDICTS } from '../../domain/verdict.ts';

// Runs under --disallow-code-generation-from-strings: zod must not compile its parsers.
z.config({ jitless: true });

export const RULE_FORMAT_VERSION = 1;
export const DECLARED_TYPES = [
  'text',
  'version',
  'flag',
  'boolean',
  'number',
  'score',
  'time',
  'time_ns',
  'time_ms',
  'time_s',
  'texts',
  'numbers',
] as const;

const duration = z
  .string()
  .regex(/^\d+(\.\d+)?(ms|s|m|h|d|w)$/)
  .describe('A number and a unit: ms, s, m, h, d or w; such as 10m');
const json = z.unknown();

const proposal = z.union([
  z.string(),
  z.strictObject({ action: z.string(), with: z.record(z.string(), json).default({}) }),
]);

const testEvent = z
  .looseObject({ ago: duration.default('0s'), times: z.int().min(1).max(10_000).default(1) })
  .describe('Fields of an event, `ago` before now, `times` times');

const seenBefore = z
  .looseObject({ ago: duration })
  .describe('What a run saw, `ago` before now: fields by their paths; null: no value');

export const testSchema = z.strictObject({
  name: z.string().min(1),
  given: z
    .record(z.string(), json)
    .default({})
    .describe('Merged onto a complete, fresh, unremarkable record; null takes a field away'),
  owners: z.array(z.record(z.string(), json)).optional().describe('The records of $owners'),
  devices: z.array(z.record(z.string(), json)).optional().describe('The records of $devices'),
  events: z.array(testEvent).default([]),
  history: z.array(seenBefore).default([]),
  gaps: z
    .array(z.strictObject({ from: duration, to: duration }))
    .default([])
    .describe('Stretches before now that the event log is not known for, and in which no run read anything'),
  unavailable: z.array(z.literal('events')).default([]),
  expect: z.union([
    z.enum(VERDICTS),
    z.strictObject({ verdict: z.enum(VERDICTS), reasons: z.array(z.string()).default([]) }),
  ]),
});

export const ruleSchema = z.strictObject({
  id: z
    .string()
    .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/)
    .max(100)
    .describe('Unique, in kebab-case'),
  title: z.string().min(1).max(300).optional(),
  description: z.string().optional(),
  severity: z.enum(SEVERITIES).default('medium'),
  subject: z.enum(SUBJECT_KINDS),
  when: json.describe('JSON Logic over the record: the problem, not the state that the action sets'),
  then: z.union([proposal, z.array(proposal).min(1)]).describe('An action, or a list of actions'),
  mode: z.enum(MODES).default('dry-run'),
  for: duration.default('0s').describe('Must have matched this long before it acts'),
  clear_for: duration
    .default('0s')
    .describe('Must have cleared this long before the episode ends; with `revert` at least 30m is advised'),
  cooldown: duration.default('0s').describe('Least time between two attempts at one target'),
  revert: z
    .boolean()
    .default(false)
    .describe('Undo when the last claim ends, after a newer report than the one that acted, or a second reading'),
  limits: z
    .strictObject({
      max: z.int().min(0).default(LIMITS_DEFAULT.max),
      percent: z.number().min(0).max(100).default(LIMITS_DEFAULT.percent),
      per_day: z.int().min(0).optional().describe('Subjects that newly match within 24 hours: more holds the rule'),
    })
    .default({ ...LIMITS_DEFAULT }),
  owners: z.enum(['one', 'all']).default('one'),
  watch: z.boolean().default(true).describe('Judge it also between two runs, when an event names its subject'),
  fresh: z
    .record(z.string(), duration)
    .default({})
    .describe('Timestamps, and how old they may be: beyond it, the facts beside them are unknown'),
  declares: z
    .record(z.string(), z.enum(DECLARED_TYPES))
    .default({})
    .describe('Fields that the server sends and the schema does not know'),
  tests: z.array(testSchema).default([]),
});

export type RuleFile = z.infer<typeof ruleSchema>;
export type TestFile = z.infer<typeof testSchema>;

/** The keys of a rule file, and of its parts, by the last key that leads there; for suggestions. */
export const KEYS: Record<string, readonly string[]> = {
  '': Object.keys(ruleSchema.shape),
  tests: Object.keys(testSchema.shape),
  limits: ['max', 'percent', 'per_day'],
  then: ['action', 'with'],
  gaps: ['from', 'to'],
  expect: ['verdict', 'reasons'],
};
