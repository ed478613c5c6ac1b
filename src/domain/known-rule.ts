// domain: whether a rule is known at all: "nothing is known" and "nothing happened" are different answers. In: a rule's id, and the record.
// Out: nothing, or an error that names the known ones.
import { AppError } from './errors.ts';
import type { RecordReader } from './record-reader.ts';

const RECENT_RUNS = 50;

/** Errors: AppError `not_found` for a rule that no decision names and no recent run had. `loaded`: ids of rules that are known anyway. */
export async function demandKnownRule(
  reader: Pick<RecordReader, 'decisions' | 'runs'>,
  rule: string,
  loaded: readonly string[] = [],
): Promise<void> {
  if (loaded.includes(rule) || (await reader.decisions({ rule, limit: 1 })).length > 0) return;
  const runs = await reader.runs(RECENT_RUNS);
  const known = [...new Set([...loaded, ...runs.flatMap(({ rules }) => rules)])];
  if (known.includes(rule)) return;
  const names = known.length === 0 ? 'none is known yet' : `known are ${known.sort().join(', ')}`;
  throw new AppError('not_found', `there is no rule \`${rule}\`: ${names}`);
}
