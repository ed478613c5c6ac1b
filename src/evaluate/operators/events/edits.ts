// evaluate: mutants of an event operator's filter: each key left out, another window, another severity, another condition.
// In: the filter as written. Out: others, each with a description.
import type { Fact, Facts } from '../../../domain/facts.ts';
import { EVENT_SEVERITIES } from '../../../domain/platform-values.ts';
import { type Edit, type EditsOf, literalEdits, showEdited, within } from '../../language/edits.ts';

export function filterEdits(filter: Facts, editsOf: EditsOf): Edit[] {
  return Object.entries(filter).flatMap(([key, value]) => keyEdits(filter, key, value, editsOf));
}

function keyEdits(filter: Facts, key: string, value: Fact, editsOf: EditsOf): Edit[] {
  const withValue = (other: Fact): Fact => ({ ...filter, [key]: other });
  const { [key]: _, ...others } = filter;
  const leftOut: Edit = { description: `${key} left out`, value: others };
  switch (key) {
    case 'within':
      return typeof value === 'string' ? within(literalEdits(value), withValue, 'within ') : [leftOut];
    case 'severity':
      return severitiesBeside(value).map((other) => ({
        description: `severity ${showEdited(value)} → ${other}`,
        value: withValue(other),
      }));
    case 'where':
      return [leftOut, ...within(editsOf(value, 'values'), withValue, 'where ')];
    case 'of':
      return [];
    default:
      return [leftOut];
  }
}

/** DEBUG is the same as none. */
function severitiesBeside(value: Fact): string[] {
  const rank = (EVENT_SEVERITIES as readonly Fact[]).indexOf(value);
  return [EVENT_SEVERITIES[rank - 1], EVENT_SEVERITIES[rank + 1]].filter((each) => each !== undefined);
}
