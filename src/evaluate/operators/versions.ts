// evaluate: `version_lt`, `version_lte`, `version_gt`, `version_gte`: versions as people and platforms write them, such as
// `13.1`, `macOS 13.1` or `3.2.1-beta`. In: two texts. A text that is no version is unknown.
import semver, { type SemVer } from 'semver';
import type { Fact } from '../../domain/facts.ts';
import { showLiteral } from '../../domain/literal-text.ts';
import { call, type Form, refuse } from '../check/scope.ts';
import { checkText } from '../check/texts.ts';
import { type Edit, type EditsOf, showEdited, within } from '../language/edits.ts';
import type { Compiling, Expression, Operator } from '../language/expression.ts';
import type { Frame } from '../language/frame.ts';
import { FALSE, TRUE, Unknown, worse } from '../language/three-valued.ts';
import { nameOf } from '../language/wording.ts';
import { BOOLEAN } from '../record-types/field-types.ts';
import type { Family } from './family.ts';

function versionTest(name: string, sign: string, holds: (order: number) => boolean, swaps: readonly string[]): Form {
  const operator: Operator = {
    name,
    isForeign: true,
    text: (args, bracketed) => `version ${args.map(bracketed).join(` ${sign} `)}`,
    condition(args, compiling) {
      const [first, second] = args.map((arg) => versionOf(arg, compiling)) as [VersionExpr, VersionExpr];
      return (frame) => {
        const a = first(frame);
        const b = second(frame);
        if (a instanceof Unknown) return b instanceof Unknown ? worse(a.truth, b.truth) : a.truth;
        if (b instanceof Unknown) return b.truth;
        return holds(semver.compare(a, b)) ? TRUE : FALSE;
      };
    },
  };
  return {
    min: 2,
    max: 2,
    usage: 'write it as [version, version]',
    swaps,
    innerEdits: versionEdits,
    check({ args, place, placeOf }, scope) {
      const parts = [0, 1].map((index) => checkText(args[index] ?? null, placeOf(index), name, scope));
      const wrong = parts.find((part) => part.op === 'literal' && isNoVersion(part));
      if (wrong?.op !== 'literal') return call(operator, parts, BOOLEAN, place);
      const message = `\`${showLiteral(wrong.value)}\` is no version; write it as "1.2.3"`;
      return refuse(scope, 'value', wrong.place, message);
    },
  };
}

/** A version written out becomes the one before and the one after it; `14~` would be version 14 too. */
function versionEdits(written: Fact, editsOf: EditsOf): Edit[] {
  if (!Array.isArray(written)) return [];
  return written.flatMap((part, index) => {
    const edits = typeof part === 'string' ? neighboursOf(part) : editsOf(part, 'values');
    return within(edits, (edited) => written.with(index, edited));
  });
}

function neighboursOf(version: string): Edit[] {
  const [, before, last, after] = /^(\D*(?:\d+\.)*)(\d+)(.*)$/s.exec(version) ?? [];
  if (last === undefined) return [];
  return [Number(last) + 1, Number(last) - 1]
    .filter((number) => number >= 0)
    .map((number) => `${before}${number}${after}`)
    .map((other) => ({ description: `${showEdited(version)} → ${showEdited(other)}`, value: other }));
}

const isNoVersion = (part: Expression & { op: 'literal' }): boolean =>
  part.type.kind !== 'refused' && !semver.coerce(String(part.value));

type VersionExpr = (frame: Frame) => SemVer | Unknown;

const VERSIONS_KEPT = 5_000;

function versionOf(arg: Expression, compiling: Compiling): VersionExpr {
  const value = compiling.value(arg);
  const label = nameOf(arg);
  const none = compiling.reasons.unknown(label.replaceAll('`', ''), `${label} is no version`);
  const known = new Map<string, SemVer | Unknown>();
  return (frame) => {
    const text = value(frame);
    if (typeof text !== 'string') return text as Unknown;
    const before = known.get(text);
    if (before) return before;
    const version = (text.length <= 256 && (semver.parse(text) ?? semver.coerce(text))) || none;
    if (known.size >= VERSIONS_KEPT) known.clear();
    known.set(text, version);
    return version;
  };
}

export const VERSIONS: Family = {
  version_lt: versionTest('version_lt', '<', (order) => order < 0, ['version_lte', 'version_gt']),
  version_lte: versionTest('version_lte', '<=', (order) => order <= 0, ['version_lt', 'version_gt']),
  version_gt: versionTest('version_gt', '>', (order) => order > 0, ['version_gte', 'version_lt']),
  version_gte: versionTest('version_gte', '>=', (order) => order >= 0, ['version_gt', 'version_lt']),
};
