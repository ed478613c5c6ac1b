// Signals: the file `signals.yaml` at the top of a folder of rules → who may send signals, checked before the rules that count them. In: texts of files. Out:
// the transmitters of all folders together, or what is wrong with them. Secrets are not in it: it names where they are.
import { basename } from 'node:path';
import { z } from 'zod';
import { didYouMean } from '../../base/nearest-name.ts';
import { formatDuration, parseDuration } from '../../base/time.ts';
import type { Facts } from '../../domain/facts.ts';
import {
  MEMBER_TYPES,
  NAME_KINDS,
  type SecretPlace,
  SIGNAL_EVENTS,
  signalEventOf,
  type Transmitter,
} from '../../domain/signal.ts';
import { checkedBy, Problems, type RuleProblem } from '../language/problem.ts';
import { readRuleText } from './rule-text.ts';

const TRANSMITTERS_MAX = 50;
const MAP_MAX = 20_000;
const [MINUTE_MS, DAY_MS] = [60_000, 86_400_000];

const text = z.string().trim().min(1).max(1_000);
const duration = (min: number, max: number) =>
  z.string().transform((written, context) => {
    const ms = parseDuration(written);
    if (ms !== undefined && ms >= min && ms <= max) return ms;
    context.addIssue(`expected ${formatDuration(min)} to ${formatDuration(max)}, such as 1h, found \`${written}\``);
    return z.NEVER;
  });
const url = text.refine((address) => {
  const at = URL.canParse(address) ? new URL(address) : undefined;
  return at?.protocol === 'https:' && !at.username && !at.password && !at.hash;
}, 'expected an address that begins with https://, without user name, password or #');
const file = text.refine(
  (path) => !/[\\\p{C}]/u.test(path) && path.split('/').every((part) => !/^(\.\.?)?$/.test(part)),
  'expected a file below the folder of TRUSTWARD_SIGNALS, such as `okta.token`, without `..`',
);
/** Other variables of the process are nobody's business. */
const variable = z
  .string()
  .regex(/^SIGNAL_[A-Z0-9_]{1,90}$/, 'expected a name that begins with SIGNAL_, such as SIGNAL_OKTA_TOKEN');
const secret = z
  .strictObject({ file: file.exactOptional(), env: variable.exactOptional() })
  .refine((one) => (one.file === undefined) !== (one.env === undefined), 'expected `file` or `env`, one of them')
  .transform(({ file, env = '' }): SecretPlace => (file === undefined ? { env } : { file }));
const event = z.string().transform((written, context) => {
  const type = signalEventOf(written);
  if (type !== undefined) return type;
  const hint = didYouMean(written, SIGNAL_EVENTS.keys());
  context.addIssue(`expected the name of an event of CAEP or RISC, or an address, found \`${written}\`${hint}`);
  return z.NEVER;
});
const kind = z.enum(NAME_KINDS);
const oneOrMore = z.union([text.transform((one) => [one]), z.array(text).min(1).max(20)]);

const transmitter = z.strictObject({
  issuer: url,
  audience: oneOrMore,
  jwks: z.union([url.transform((one) => ({ url: one })), z.strictObject({ file })]).exactOptional(),
  events: z.array(event).min(1).max(100).exactOptional(),
  delivery: z.enum(['push', 'poll']),
  poll: url.exactOptional(),
  push_bearer: secret.exactOptional(),
  bearer: secret.exactOptional(),
  stream: z
    .strictObject({
      endpoint: url.exactOptional(),
      subjects: z.array(z.record(z.string(), z.unknown())).max(100).default([]),
    })
    .exactOptional(),
  members: z.record(event, z.record(text, z.enum(MEMBER_TYPES))).exactOptional(),
  heartbeat: duration(MINUTE_MS / 6, DAY_MS).default(5 * MINUTE_MS),
  keeps: duration(MINUTE_MS, 90 * DAY_MS).default(DAY_MS),
  oldest: duration(MINUTE_MS, 90 * DAY_MS).default(7 * DAY_MS),
  subjects: z
    .strictObject({
      iss_sub: kind.default('map'),
      opaque: kind.default('map'),
      device: kind.default('map'),
      map: z.record(text, text).default({}),
    })
    .prefault({}),
});
const schema = z.strictObject({
  transmitters: z.record(
    z.string().regex(/^[a-z][a-z0-9_-]{0,49}$/, 'expected lower-case letters, digits, _ and -'),
    transmitter,
  ),
});
type Written = z.infer<typeof transmitter>;
const MEMBERS = [...Object.keys(transmitter.shape), 'endpoint', 'iss_sub', 'opaque', 'device', 'map', 'file', 'env'];

export function isSignalsFile(path: string): boolean {
  return /^signals\./.test(basename(path));
}

/** Of several folders, together. A file that was refused has none, so that rules that count its signals are refused too. Never throws. */
export function readSignals(files: Iterable<readonly [file: string, text: string | RuleProblem, inFolder?: string]>): {
  transmitters: Transmitter[];
  problems: RuleProblem[];
} {
  const transmitters = new Map<string, Transmitter>();
  const list: RuleProblem[] = [];
  for (const [path, content, inFolder] of files) {
    // Misplaced and unreadable ones are reported with the guards.
    if (!isSignalsFile(path) || typeof content !== 'string' || inFolder?.includes('/')) continue;
    const read = readRuleText(content, path.endsWith('.json'), 'set of transmitters');
    if ('faults' in read) {
      list.push(...read.faults.map((fault) => ({ file: path, ...fault })));
      continue;
    }
    const problems = new Problems(path, read.positionOf);
    const written =
      read.value === null
        ? {}
        : (checkedBy(schema, read.value, { what: 'signals', members: MEMBERS }, problems)?.transmitters ?? {});
    for (const [name, one] of Object.entries(written)) {
      const fault = (place: string[], message: string) =>
        problems.add('value', ['transmitters', name, ...place], `\`transmitters.${name}\`: ${message}`);
      checkDelivery(one, fault);
      if (transmitters.has(name))
        problems.add(
          'duplicate_id',
          ['transmitters', name],
          `there is a transmitter \`${name}\` already; their names are unique`,
        );
      else transmitters.set(name, transmitterOf(name, one));
    }
    if (transmitters.size > TRANSMITTERS_MAX)
      problems.add(
        'too_large',
        ['transmitters'],
        `at most ${TRANSMITTERS_MAX} transmitters, found ${transmitters.size}`,
      );
    list.push(...problems.list);
  }
  return { transmitters: list.length > 0 ? [] : [...transmitters.values()], problems: list };
}

function checkDelivery(
  { delivery, poll, push_bearer: pushBearer, stream, jwks, subjects, keeps, heartbeat }: Written,
  fault: (place: string[], message: string) => void,
): void {
  if (delivery === 'push' && poll !== undefined) fault(['poll'], 'it pushes, so it is not polled: leave `poll` out');
  if (delivery === 'poll' && pushBearer) fault(['push_bearer'], 'it is polled: what we show there is `bearer`');
  if (delivery === 'poll' && poll === undefined && !stream)
    fault([], 'it is polled: give the address in `poll`, or `stream: {}` where its management API says it');
  if (delivery === 'poll' && stream?.endpoint !== undefined)
    fault(['stream', 'endpoint'], 'it is polled: the address where it would push to is left out');
  if (delivery === 'push' && stream && stream.endpoint === undefined)
    fault(
      ['stream'],
      'give `endpoint`, the address of this Trustward where it pushes to, such as https://trustward.example.com/signals/NAME',
    );
  if (!jwks && !stream)
    fault([], 'give its keys in `jwks`, or `stream: {}` where its configuration document names them');
  if (Object.keys(subjects.map).length > MAP_MAX)
    fault(['subjects', 'map'], `at most ${MAP_MAX} names, found ${Object.keys(subjects.map).length}`);
  if (keeps < heartbeat)
    fault(['keeps'], `keeps is shorter than heartbeat (${formatDuration(heartbeat)}): each silence would be a gap`);
}

function transmitterOf(name: string, written: Written): Transmitter {
  const { issuer, audience, jwks, events, delivery, poll, bearer, stream, subjects } = written;
  return {
    ...{ name, issuer, audience, jwks, events, bearer },
    delivery: delivery === 'push' ? { method: 'push' } : { method: 'poll', url: poll },
    pushBearer: written.push_bearer,
    stream: stream && { endpoint: stream.endpoint, subjects: stream.subjects as Facts[] },
    heartbeatMs: written.heartbeat,
    ...(written.members && { members: written.members }),
    keepsMs: written.keeps,
    oldestMs: written.oldest,
    subjects: { issSub: subjects.iss_sub, opaque: subjects.opaque, device: subjects.device, map: subjects.map },
  };
}

/** For the hash of a set. A set without transmitters has the hash that it had before there were any. */
export function meaningOfSignals(transmitters: readonly Transmitter[]): Facts[] {
  return transmitters.length === 0 ? [] : [{ signals: JSON.stringify(transmitters) }];
}
