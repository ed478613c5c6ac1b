// evaluate: the JSON Schema of a rule file, made from the zod schema, for editors. In: nothing. Out: the schema as data.
import { z } from 'zod';
import { LANGUAGE } from '../operators/index.ts';
import { RULE_FORMAT_VERSION, ruleSchema } from './rule-format.ts';

/** The JSON Schema of a rule file, for editors (draft 2020-12). */
export function rulesJsonSchema(): object {
  const schema = z.toJSONSchema(ruleSchema, { io: 'input', target: 'draft-2020-12' }) as {
    properties?: Record<string, unknown>;
  };
  const names = [...LANGUAGE.keys()];
  const condition = {
    description: 'JSON Logic over the record: the problem, not the state that the action sets',
    anyOf: [
      { type: ['string', 'number', 'boolean'] },
      { type: 'array', items: { $ref: '#/$defs/condition' } },
      { $ref: '#/$defs/operation' },
    ],
  };
  const operation = { type: 'object', minProperties: 1, maxProperties: 1, propertyNames: { enum: names } };
  return {
    ...schema,
    $id: `urn:trustward:rule:${RULE_FORMAT_VERSION}`,
    title: 'Trustward rule',
    properties: { ...schema.properties, when: { $ref: '#/$defs/condition' } },
    $defs: { condition, operation },
  };
}
