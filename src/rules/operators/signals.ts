// rules: `signal_count`, `since_last_signal` and `last_signal` over the subject's own signals of one transmitter in a sliding window.
// In: a filter, and the transmitters of `signals.yaml`. Out: a fact, as event counts are: with a gap in what is known of the transmitter it is a number
// between two bounds. Of the newest signal nothing is known where a newer one may be missing.
import { didYouMean } from '../../base/nearest-name.ts';
import { formatDuration } from '../../base/time.ts';
import { type Fact, type Facts, isFacts, showLiteral } from '../../domain/facts.ts';
import {
  SIGNAL_EVENTS,
  STREAM_UPDATED_EVENT,
  shownSignalEvent,
  signalEventOf,
  signalLagMs,
  VERIFICATION_EVENT,
} from '../../domain/signal.ts';
import type { Family, Operands, Scope } from '../check/scope.ts';
import { refuse, refused } from '../check/scope.ts';
import type { EventCount, Expression } from '../language/expression.ts';
import type { Place } from '../language/problem.ts';
import { fieldAt, NUMBER, pathsOf, SECONDS, type ValueType } from '../record-types/field-types.ts';
import { type KnownTransmitter, signalType } from '../record-types/signal-types.ts';
import { checkWhere, checkWithin, countedFact, counting, type Fault, shortKey, whoseOf } from './events.ts';

type What = 'signal_count' | 'since_last_signal' | 'last_signal';

const KEYS = ['transmitter', 'event', 'where', 'within'];
const EXAMPLE = '{"transmitter": "okta", "event": "session-revoked", "within": "1h"}';

function checkSignals(what: What, { args, place, placeOf }: Operands, scope: Scope): Expression {
  const filter = args[0] as Fact;
  const whose = whoseOf(what, place, scope);
  if (whose === undefined) return refused(place);
  const at = placeOf(0);
  if (!isFacts(filter)) return refuse(scope, 'type', at, `\`${what}\` takes a filter; write ${EXAMPLE}`);
  const read = readFilter(what, filter, at, scope);
  if (!read) return refused(place);
  const { of: ofType, ...spec } = read;
  const count: EventCount = { ...spec.count, subject: whose.kind };
  scope.reads.signals.add(spec.count.transmitter as string);
  scope.reads.signalWindowMs = Math.max(scope.reads.signalWindowMs, count.withinMs);
  const type = what === 'last_signal' ? (ofType as ValueType) : what === 'signal_count' ? NUMBER : SECONDS;
  return countedFact(count, signalLabel(count), type, whose, place, scope);
}

/** Undefined when something of it was refused. */
function readFilter(what: What, filter: Facts, at: Place, scope: Scope) {
  const known = what === 'last_signal' ? [...KEYS, 'of'] : KEYS;
  let fine = true;
  const fault: Fault = (code, key, message) => {
    fine = false;
    scope.problem(code, [...at, key], message);
  };
  for (const key of Object.keys(filter))
    if (!known.includes(key)) fault('format', key, `\`${what}\` has no \`${key}\`${didYouMean(key, known)}`);
  const transmitter = checkTransmitter(filter.transmitter, scope.transmitters, fault);
  const withinMs = checkWithin(filter.within, fault);
  const types = transmitter && checkEvents(filter.event, transmitter, fault);
  if (!transmitter || !types) return undefined;
  const root = signalType(types, transmitter);
  const where = filter.where === undefined ? undefined : checkWhere(filter.where, [...at, 'where'], root, scope);
  const of = what === 'last_signal' ? checkMember(filter.of, root, types, fault) : undefined;
  if (!fine || where?.type.kind === 'refused') return undefined;
  const count: Omit<EventCount, 'subject'> = {
    what,
    transmitter: transmitter.name,
    lagMaxMs: signalLagMs(transmitter),
    types,
    ...{ subTypes: undefined, actions: undefined, results: undefined, severityMin: undefined },
    where,
    of: of?.path,
    withinMs,
  };
  return { count, of: of?.type };
}

function checkTransmitter(
  raw: Fact | undefined,
  transmitters: Scope['transmitters'],
  fault: Fault,
): KnownTransmitter | undefined {
  const known = typeof raw === 'string' ? transmitters.get(raw) : undefined;
  if (known) return known;
  const names = [...transmitters.keys()];
  const listed = names.length === 0 ? '; there is no `signals.yaml` beside the rules that names one' : '';
  if (raw === undefined)
    fault(
      'format',
      'transmitter',
      `\`transmitter\` is missing: whose signals, by the name in \`signals.yaml\`${listed}`,
    );
  else {
    const hint = listed || (typeof raw === 'string' && didYouMean(raw, names)) || `; known: ${names.join(', ')}`;
    fault('value', 'transmitter', `\`signals.yaml\` has no transmitter \`${showLiteral(raw)}\`${hint}`);
  }
  return undefined;
}

/** Full types. */
function checkEvents(raw: Fact | undefined, { name, events }: KnownTransmitter, fault: Fault): string[] | undefined {
  const list = Array.isArray(raw) ? raw : raw === undefined ? [] : [raw];
  if (list.length === 0) {
    fault('format', 'event', '`event` is missing: the name of an event, such as "session-revoked", or a list of names');
    return undefined;
  }
  const types = list.flatMap((one) => {
    const type = typeof one === 'string' ? signalEventOf(one) : undefined;
    const sent = (events ?? [...SIGNAL_EVENTS.values()]).map(shownSignalEvent);
    if (type === undefined) {
      const hint = typeof one === 'string' ? didYouMean(one, sent) : '';
      fault(
        'value',
        'event',
        `there is no event \`${showLiteral(one)}\`; it is named by its short name or its URI${hint}`,
      );
    } else if (type === VERIFICATION_EVENT || type === STREAM_UPDATED_EVENT)
      fault('value', 'event', `\`${showLiteral(one)}\` is about the stream, and about no subject`);
    else if (events && !events.includes(type))
      fault(
        'value',
        'event',
        `\`signals.yaml\` takes no \`${showLiteral(one)}\` of \`${name}\`; it takes ${sent.join(', ')}`,
      );
    else return [type];
    return [];
  });
  return types.length === list.length ? [...new Set(types)].sort() : undefined;
}

function checkMember(raw: Fact | undefined, root: ValueType, types: readonly string[], fault: Fault) {
  const path = typeof raw === 'string' ? raw.split('.') : undefined;
  const type = path && fieldAt(root, path)?.type;
  if (path && type && !['record', 'list', 'any'].includes(type.kind)) return { path, type };
  const events = types.map(shownSignalEvent).join(' and ');
  const hint = typeof raw === 'string' ? didYouMean(raw, pathsOf(root)) : '';
  const found = raw === undefined ? '' : `, not \`${showLiteral(raw)}\`${hint}`;
  const declared = '; one that is in no standard is declared in `signals.yaml`, under `members`';
  fault('path', 'of', `\`of\` takes the path of a value in ${events}${found}${hint === '' ? declared : ''}`);
  return undefined;
}

/** How the count is called in reports: `signal_count(session-revoked from okta within 1h)`. */
function signalLabel({ what, of, types = [], transmitter, where, withinMs }: EventCount): string {
  const member = of ? `${of.join('.')} of ` : '';
  const only = where ? ` where ${shortKey(where)}` : '';
  const events = types.map(shownSignalEvent).join('|');
  return `${what}(${member}${events} from ${transmitter}${only} within ${formatDuration(withinMs)})`;
}

const USAGE = `write it as ${EXAMPLE}`;
const of = (what: What) => counting((operands, scope) => checkSignals(what, operands, scope), USAGE);

export const SIGNALS: Family = {
  signal_count: of('signal_count'),
  since_last_signal: of('since_last_signal'),
  last_signal: of('last_signal'),
};
