// evaluate: `matches`: does a text match a regular expression in RE2's syntax, whose time is linear in the text.
// In: a text and a pattern that is written out.
import { RE2JS } from 're2js';
import { call, refuse } from '../check/scope.ts';
import { checkText } from '../check/texts.ts';
import { OVER_BUDGET } from '../compile/operands.ts';
import type { Expression, Operator } from '../language/expression.ts';
import { FALSE, TRUE, Unknown } from '../language/three-valued.ts';
import { BOOLEAN } from '../record-types/field-types.ts';
import type { Family } from './family.ts';

const PATTERN_MAX = 1_000;

function matches(written: string, pattern: RE2JS): Operator {
  const shown = JSON.stringify(written);
  return {
    name: 'matches',
    isForeign: true,
    takesSteps: true,
    key: ([text]) => `(matches ${text} ${shown})`,
    text: ([arg], bracketed) => `${bracketed(arg as Expression)} matches ${shown}`,
    constant: () =>
      UNLIKE.every((text) => pattern.matcher(text).find())
        ? { truth: 'true', because: `every text matches ${shown}` }
        : undefined,
    condition([arg], compiling) {
      const value = compiling.value(arg as Expression);
      const overBudget = compiling.reasons.error(OVER_BUDGET).truth;
      return (frame) => {
        const text = value(frame);
        if (text instanceof Unknown) return text.truth;
        // Linear in the text, but a long one times a large pattern is still too long.
        frame.steps -= (text as string).length;
        if (frame.steps < 0) return overBudget;
        return pattern.matcher(text as string).find() ? TRUE : FALSE;
      };
    },
  };
}

/** Texts that have nothing in common. A pattern that finds something in each of them finds it in every text. */
const UNLIKE = ['', '\u0001', 'q', '7', '-\n~', '\u{1f600}'];

export const PATTERNS: Family = {
  matches: {
    min: 2,
    max: 2,
    usage: 'write it as [text, pattern]',
    check({ args, place, placeOf }, scope) {
      const arg = checkText(args[0] ?? null, placeOf(0), 'matches', scope);
      const pattern = args[1];
      if (typeof pattern !== 'string')
        return refuse(scope, 'type', placeOf(1), 'expected a pattern, written out as a text');
      if (pattern.length > PATTERN_MAX)
        return refuse(scope, 'value', placeOf(1), 'the pattern is longer than 1,000 characters');
      try {
        return call(matches(pattern, RE2JS.compile(pattern)), [arg], BOOLEAN, place);
      } catch (error) {
        const reason = String((error as Error).message).split('\n')[0];
        return refuse(scope, 'value', placeOf(1), `not a pattern in RE2's syntax: ${reason}`);
      }
    },
  },
};
