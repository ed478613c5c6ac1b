// evaluate: what `$owners`, `$devices` and `$spec` are for a record. In: the record and the joins. Out: a value, or the reason why it is unknown.
import { type Fact, type Facts, isFacts } from '../../domain/facts.ts';
import { unescapeHtml } from '../../domain/json-in-text.ts';
import type { JudgeContext } from '../../domain/verdict.ts';
import type { Frame } from '../language/frame.ts';
import type { Reasons, Value } from '../language/three-valued.ts';
import { ownPart } from '../language/typed-value.ts';

const SPEC_MAX = 1_000_000;

export function virtualReader(
  context: Pick<JudgeContext, 'joins' | 'unavailable'>,
  reasons: Reasons,
): Frame['readVirtual'] {
  const unknown = (name: string, why: string): Value => reasons.unknown(name, `\`${name}\` ${why}`);
  return (name, frame) => {
    if (name === '$spec')
      return specOf(frame.record) ?? unknown(name, 'cannot be read: ServiceSpec is missing or no JSON object');
    const source = name === '$owners' ? 'users' : 'devices';
    if (context.unavailable.has(source)) return unknown(name, `cannot be known: ${source} are unavailable`);
    const keys = ownPart(frame.record, name === '$owners' ? 'Emails' : 'SerialNumbers');
    if (!Array.isArray(keys) || !keys.every((key) => typeof key === 'string')) {
      return unknown(name, `cannot be known: \`${name === '$owners' ? 'Emails' : 'SerialNumbers'}\` is missing`);
    }
    const found: Fact[] = [];
    for (const key of keys as string[]) {
      const records =
        name === '$owners'
          ? listed(context.joins.users.get(key.toLowerCase()))
          : (context.joins.devices.get(key) ?? []);
      if (records.length === 0)
        return unknown(name, `cannot be known whole: one of the ${source} is not in the snapshot`);
      found.push(...records);
    }
    return found;
  };
}

const listed = (record: Facts | undefined): Facts[] => (record ? [record] : []);

/** The ServiceSpec text parsed; some servers send it HTML-escaped. Undefined unless it is a JSON object. */
export function specOf(record: Facts): Facts | undefined {
  const text = ownPart(record, 'ServiceSpec');
  if (isFacts(text as Fact)) return text as Facts;
  if (typeof text !== 'string' || text.length > SPEC_MAX) return undefined;
  return parsed(text) ?? (text.includes('&') ? parsed(unescapeHtml(text)) : undefined);
}

function parsed(text: string): Facts | undefined {
  try {
    const value: Fact = JSON.parse(text);
    return isFacts(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
