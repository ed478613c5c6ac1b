// history/record: a record as the history may keep it. In: a record as it was read. Out: the paths of its facts that hold a secret; those are
// recorded as there, without their value. Services come without their secrets: rules did not see them either.
import { FactPaths } from '../../domain/fact-prints.ts';
import type { Facts } from '../../domain/facts.ts';
import { isFacts } from '../../domain/facts.ts';
import type { PrintKey } from '../../domain/print-bits.ts';
import { withoutSecrets } from '../../domain/secrets.ts';

/** Their text is JSON, and is dropped when it is not. */
const JSON_FIELDS: ReadonlySet<string> = new Set(['OIDCClientSpec', 'ServiceSpec']);

const NONE: ReadonlySet<string> = new Set();

/** A name alone makes no secret: agents have a `PasscodeStatus`. */
export function secretPathsOf(record: Facts, key: PrintKey): ReadonlySet<string> {
  const { value, dropped } = withoutSecrets(record, { jsonFields: JSON_FIELDS, needsForm: true });
  if (dropped.length === 0) return NONE;
  const paths = new FactPaths(key);
  const kept = new Map<string, string>();
  if (isFacts(value)) paths.walk(value, (path, print) => kept.set(path.text, print.join()));
  const secret = new Set<string>();
  paths.walk(record, (path, print) => {
    if (kept.get(path.text) !== print.join()) secret.add(path.text);
  });
  return secret;
}
