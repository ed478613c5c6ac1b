// evaluate: `previous`, `changed_within` and `unchanged_for`: what runs saw of a field of the subject before. In: the path of a field, written out,
// and how far back. Out: a fact, read when it is first asked for: unknown where a gap in the history may hide another answer.
import { formatDuration, parseDuration } from '../../domain/duration.ts';
import type { Fact } from '../../domain/facts.ts';
import { isFacts } from '../../domain/facts.ts';
import { isSecretName } from '../../domain/secrets.ts';
import { factAt, resolvePath } from '../check/paths.ts';
import { type Form, type Operands, refuse, refused, type Scope } from '../check/scope.ts';
import { durationFault } from '../check/units.ts';
import { literalEdits, within } from '../language/edits.ts';
import type { Expression, LookedBack, PathFact } from '../language/expression.ts';
import type { Place } from '../language/problem.ts';
import { BOOLEAN, fieldAt } from '../record-types/field-types.ts';
import type { Family } from './family.ts';

type What = 'previous' | 'changed_within' | 'unchanged_for';

const ASKS: Record<What, LookedBack['asks']> = {
  previous: 'before',
  changed_within: 'changed',
  unchanged_for: 'stayed',
};

const WITHIN_MAX = '365d';
const WITHIN_MAX_MS = 365 * 86_400_000;

function checkLookBack(what: What, { args, place, placeOf }: Operands, scope: Scope): Expression {
  if (scope.subject === 'event' || scope.item) {
    const message = `\`${what}\` looks back on a field of the subject; it cannot stand inside another operator's element or event`;
    return refuse(scope, 'operator', place, message);
  }
  const present = checkPath(what, args[0] as Fact, placeOf(0), scope);
  const withinMs = what === 'previous' ? Number.POSITIVE_INFINITY : checkWithin(what, args[1], placeOf(1), scope);
  if (!present || withinMs === undefined) return refused(place);
  const type = what === 'previous' ? present.type : BOOLEAN;
  const past: LookedBack = { asks: ASKS[what], present, withinMs };
  const label = `${what}(${present.label}${what === 'previous' ? '' : `, ${formatDuration(withinMs)}`})`;
  const key = `${what} ${withinMs} ${present.key}`;
  scope.reads.lookBackMs = Math.max(scope.reads.lookBackMs, withinMs);
  scope.reads.lookBack.add(present.label);
  return { op: 'fact', fact: { kind: 'look_back', key, label, type, past }, type, place };
}

function checkPath(what: What, raw: Fact, place: Place, scope: Scope): PathFact | undefined {
  const fault = (message: string) => {
    scope.problem('path', place, message);
    return undefined;
  };
  if (typeof raw !== 'string') {
    const read = isFacts(raw) ? raw.var : undefined;
    const path = typeof read === 'string' ? read : 'SerialNumber';
    return fault(`\`${what}\` takes the path of a field, written out; ${usageOf(what, path)}`);
  }
  const segments = raw.split('.');
  if (raw.startsWith('$')) {
    const instead = raw.startsWith('$spec') && scope.subject === 'service' ? '; `ServiceSpec` is one' : '';
    return fault(`\`${what}\` looks back on a field of the record, and \`${raw}\` is none${instead}`);
  }
  const field = resolvePath(raw, place, scope);
  if (!field) return undefined;
  if (field.type.kind === 'record') return fault(`\`${raw}\` is a record; \`${what}\` takes one field of it`);
  const list = segments.findIndex((_, end) => fieldAt(scope.root, segments.slice(0, end))?.type.kind === 'list');
  if (list > 0)
    return fault(`a list is one value in the history: \`${what}\` takes \`${segments.slice(0, list).join('.')}\``);
  if (segments.some(isSecretName)) return fault(`\`${raw}\` may be a secret, and the history keeps none`);
  const read = factAt(raw, field, undefined, place, scope);
  return read.op === 'fact' && read.fact.kind === 'path' ? read.fact : undefined;
}

function checkWithin(what: What, raw: Fact | undefined, place: Place, scope: Scope): number | undefined {
  const ms = typeof raw === 'string' ? parseDuration(raw) : undefined;
  if (ms === undefined || ms <= 0) scope.problem('unit', place, `\`${what}\`: ${durationFault(raw)}`);
  else if (ms > WITHIN_MAX_MS) scope.problem('unit', place, `\`${what}\` looks back at most "${WITHIN_MAX}"`);
  else return ms;
  return undefined;
}

function usageOf(what: What, path: string): string {
  return `write {"${what}": ${what === 'previous' ? `"${path}"` : `["${path}", "1d"]`}}`;
}

/** A path is left unchanged; the time that is looked back is not. */
const innerEdits: Form['innerEdits'] = (written) => {
  const [path, duration] = Array.isArray(written) ? written : [];
  if (path === undefined || duration === undefined) return [];
  return within(literalEdits(duration), (edited) => [path, edited]);
};

function lookingBack(what: What, swap: string): Form {
  const operands = what === 'previous' ? 1 : 2;
  return {
    min: operands,
    max: operands,
    usage: usageOf(what, 'SerialNumber'),
    check: (written, scope) => checkLookBack(what, written, scope),
    swaps: [swap],
    innerEdits,
  };
}

export const LOOK_BACK: Family = {
  previous: lookingBack('previous', 'var'),
  changed_within: lookingBack('changed_within', 'unchanged_for'),
  unchanged_for: lookingBack('unchanged_for', 'changed_within'),
};
