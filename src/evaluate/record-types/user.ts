// evaluate: the schema of an end-user record (management-api.md, "Enduser").
import type { Field, ValueType } from './field-types.ts';
import { fieldsOf, listOf, NUMBER, TEXT, TIME_NS } from './field-types.ts';
import { TRUST_DATA } from './trust-data.ts';

const UNPAGED: [string, Field][] = [
  ['LastLogin', { type: TIME_NS, unpagedOnly: true }],
  ['LoginCount', { type: NUMBER, unpagedOnly: true }],
  ['SerialNumbers', { type: listOf(TEXT), unpagedOnly: true }],
];

export const USER: ValueType & { kind: 'record' } = {
  kind: 'record',
  fields: new Map([
    ...fieldsOf({
      Name: TEXT,
      Email: TEXT,
      Groups: { kind: 'text', style: 'groups' },
      TrustData: TRUST_DATA,
      Roles: listOf(TEXT),
      CreatedAt: TIME_NS,
    }),
    ...UNPAGED,
  ]),
};
