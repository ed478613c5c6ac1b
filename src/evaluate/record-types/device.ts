// evaluate: the schema of a device record (management-api.md, "Device" and "MdmData"; field-notes.md).
import { OWNERSHIPS } from '../../domain/platform-values.ts';
import type { Field, ValueType } from './field-types.ts';
import { FLAG, fieldsOf, listOf, NUMBER, recordOf, TEXT, TIME_NS, textOf } from './field-types.ts';
import { TRUST_DATA } from './trust-data.ts';

const VERSION: ValueType = { kind: 'text', style: 'version' };

const UNPAGED: [string, Field][] = [
  ['Emails', { type: listOf(TEXT), unpagedOnly: true }],
  ['LastLogin', { type: TIME_NS, unpagedOnly: true }],
  ['LoginCount', { type: NUMBER, unpagedOnly: true }],
];

export const DEVICE: ValueType & { kind: 'record' } = {
  kind: 'record',
  fields: new Map([
    ...fieldsOf({
      DeviceID: TEXT,
      SerialNumber: TEXT,
      DeviceFriendlyName: TEXT,
      Ownership: textOf(...OWNERSHIPS),
      Platform: TEXT,
      Model: TEXT,
      Architecture: TEXT,
      RegisteredStatus: FLAG,
      MdmData: recordOf({ Timestamp: TIME_NS, Source: TEXT, CompromisedStatus: FLAG, CompliantStatus: FLAG }),
      TrustData: TRUST_DATA,
      Roles: listOf(TEXT),
      Banned: FLAG,
      OS: VERSION,
      AppVersion: VERSION,
      CreatedAt: TIME_NS,
    }),
    ...UNPAGED,
  ]),
};
