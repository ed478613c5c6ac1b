// rules: the members that events of CAEP 1.0 and RISC 1.0 have, with their types. In: the full type of an event, and what `signals.yaml` declares. Out: a
// schema. Times are in seconds. An event of neither standard has the members that are declared.
import { type MemberType, shownSignalEvent, type Transmitter } from '../../domain/signal.ts';
import { ANY, BOOLEAN, fieldAt, NUMBER, recordOf, TEXT, type ValueType } from './field-types.ts';

/** What rules are checked with of a transmitter. */
export type KnownTransmitter = Pick<Transmitter, 'name' | 'events' | 'heartbeatMs' | 'members'>;

type Members = { [name: string]: ValueType };

const SECONDS_SINCE_1970: ValueType = { kind: 'time', unit: 's' };
const texts: ValueType = { kind: 'list', of: TEXT };
/** The standard has no others: what another one means is not known. */
const oneOf = (...values: string[]): ValueType => ({ kind: 'text', values, isClosed: true });
/** The standard names these, and allows others. */
const usually = (...usual: string[]): ValueType => ({ kind: 'text', usual });

/** CAEP 1.0, section 2. By language, what an administrator or a user reads. */
const COMMON: Members = {
  event_timestamp: SECONDS_SINCE_1970,
  initiating_entity: oneOf('admin', 'user', 'policy', 'system'),
  reason_admin: ANY,
  reason_user: ANY,
};

const CREDENTIALS = ['password', 'pin', 'x509', 'fido2-platform', 'fido2-roaming', 'fido-u2f'];
const CREDENTIAL_TYPE = usually(...CREDENTIALS, 'verifiable-credential', 'phone-voice', 'phone-sms', 'app');
const COMPLIANCE = oneOf('compliant', 'not-compliant');
const RISK = oneOf('LOW', 'MEDIUM', 'HIGH');
const SESSION: Members = { ips: texts, fp_ua: TEXT, ext_id: TEXT };

const OF_EVENT: { [event: string]: Members } = {
  // CAEP 1.0, section 3.
  'token-claims-change': { claims: ANY },
  'credential-change': {
    credential_type: CREDENTIAL_TYPE,
    change_type: oneOf('create', 'revoke', 'update', 'delete'),
    friendly_name: TEXT,
    x509_issuer: TEXT,
    x509_serial: TEXT,
    fido2_aaguid: TEXT,
  },
  'assurance-level-change': {
    namespace: usually('RFC8176', 'RFC6711', 'ISO-IEC-29115', 'NIST-IAL', 'NIST-AAL', 'NIST-FAL'),
    current_level: TEXT,
    previous_level: TEXT,
    change_direction: oneOf('increase', 'decrease'),
  },
  'device-compliance-change': { current_status: COMPLIANCE, previous_status: COMPLIANCE },
  'session-established': { ...SESSION, acr: TEXT, amr: texts },
  'session-presented': SESSION,
  'risk-level-change': {
    principal: oneOf('USER', 'DEVICE', 'SESSION', 'TENANT', 'ORG_UNIT', 'GROUP'),
    current_level: RISK,
    previous_level: RISK,
    risk_reason: TEXT,
  },
  // RISC 1.0, section 2.
  'account-disabled': { reason: oneOf('hijacking', 'bulk-account') },
  'identifier-changed': { 'new-value': TEXT },
  'credential-compromise': { credential_type: CREDENTIAL_TYPE },
};

const DECLARED: Record<MemberType, ValueType> = {
  text: TEXT,
  number: NUMBER,
  boolean: BOOLEAN,
  time_s: SECONDS_SINCE_1970,
  texts,
};

function membersOf(type: string, { members = {} }: Pick<KnownTransmitter, 'members'>): Members {
  const declared = Object.entries(members[type] ?? {}).map(([name, written]) => [name, DECLARED[written]] as const);
  const name = shownSignalEvent(type);
  const standard = name === type ? {} : { ...COMMON, ...(Object.hasOwn(OF_EVENT, name) && OF_EVENT[name]) };
  return { ...standard, ...Object.fromEntries(declared) };
}

/** What can be asked of any of these events: the members that all of them have, of one kind. */
export function signalType(types: readonly string[], transmitter: Pick<KnownTransmitter, 'members'>): ValueType {
  const [first = {}, ...others] = types.map((type) => membersOf(type, transmitter));
  const root = recordOf(first);
  const isShared = (name: string) =>
    others.every((other) => Object.hasOwn(other, name) && other[name]?.kind === fieldAt(root, [name])?.type.kind);
  return recordOf(Object.fromEntries(Object.entries(first).filter(([name]) => isShared(name))));
}
