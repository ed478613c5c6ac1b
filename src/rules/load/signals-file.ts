// Signals: the file `signals.yaml` at the top of a folder of rules → who may send signals, checked before the rules that count them. In: texts of files. Out:
// the transmitters of all folders together, or what is wrong with them. Secrets are not in it: it names where they are.
import { z } from 'zod';
import { didYouMean } from '../../base/nearest-name.ts';
import { formatDuration } from '../../base/time.ts';
import type { Facts } from '../../domain/facts.ts';
import { MEMBER_TYPES, NAME_KINDS, SIGNAL_EVENTS, signalEventOf, type Transmitter } from '../../domain/signal.ts';
import type { Place, RuleProblem } from '../language/problem.ts';
import {
  addressOf,
  duration,
  fileBelow,
  hasOne,
  isNamedFile,
  ONE_OF,
  readNamed,
  type SetFiles,
  secretPlace,
  text,
  variableOf,
} from './elsewhere-file.ts';

const TRANSMITTERS_MAX = 50;
const MAP_MAX = 20_000;
const [MINUTE_MS, DAY_MS] = [60_000, 86_400_000];

const url = addressOf(/^https:$/);
const file = fileBelow('the folder of TRUSTWARD_SIGNALS', 'okta.token');
const secret = z
  .strictObject({ file: file.exactOptional(), env: variableOf('SIGNAL_', 'OKTA_TOKEN').exactOptional() })
  .refine(hasOne, ONE_OF)
  .transform(secretPlace);
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
type Written = z.infer<typeof transmitter>;
const MEMBERS = [...Object.keys(transmitter.shape), 'endpoint', 'iss_sub', 'opaque', 'device', 'map', 'file', 'env'];

export const isSignalsFile = (file: string): boolean => isNamedFile(file, 'signals');

/** Of several folders, together. A file that was refused has none, so that rules that count its signals are refused too. Never throws. */
export function readSignals(files: SetFiles): { transmitters: Transmitter[]; problems: RuleProblem[] } {
  const { named, problems } = readNamed(files, {
    ...{ file: 'signals', member: 'transmitters', noun: 'transmitter', unique: 'their names are unique' },
    ...{ most: TRANSMITTERS_MAX, form: transmitter, members: MEMBERS },
    made: (name, one, fault) => {
      checkDelivery(one, fault);
      return transmitterOf(name, one);
    },
  });
  return { transmitters: problems.length > 0 ? [] : named, problems };
}

function checkDelivery(
  { delivery, poll, push_bearer: pushBearer, stream, jwks, subjects, keeps, heartbeat }: Written,
  fault: (place: Place, message: string) => void,
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
