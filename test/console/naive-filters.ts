// test console: the filters of the lists of version 2, written naively from the documentation, without a look at the console's own criteria. In:
// records. Out: those that match, and generated values and combinations of filters.
import fc from 'fast-check';
import { START_MS } from '../support/console-organization.ts';

// biome-ignore lint/suspicious/noExplicitAny: records as they came
export type Row = any;
export type Filters = Record<string, string>;

/** What version 1 shows of each device, by its id: some filters are about what records of version 2 do not show. */
export const older = new Map<string, Row>();

const yes = (text: string) => (text.toLowerCase() === 'true' || text === '1' ? 1 : 0);
const same = (field: string) => (row: Row, value: string) => row[field] === value;
const hasEmail = (row: Row, value: string) =>
  row.extra_details.emails.some((each: string) => each.toLowerCase() === value.toLowerCase());
const hasAny = (field: string) => (row: Row, value: string) =>
  value.split('|').some((each) => row[field].includes(each));
const nanoseconds = (text: string) => BigInt(text.padEnd(19, '0'));

export type Naive = Record<string, (row: Row, value: string) => boolean>;

export const NAIVE_DEVICES: Naive = {
  ...Object.fromEntries(
    ['id', 'name', 'serial_number', 'platform', 'model', 'ownership', 'os', 'architecture', 'app_version'].map(
      (name) => [name, same(name)],
    ),
  ),
  mdm_vendor_name: same('mdm_vendor_name'),
  exact_serial_number: same('serial_number'),
  email: hasEmail,
  exact_email: hasEmail,
  banned: (row, value) => row.banned === yes(value),
  mdm_present: (row, value) => row.mdm_present === yes(value),
  active: (row, value) => Number(older.get(row.id).RegisteredStatus === 'TRUE') === yes(value),
  source: (row, value) => older.get(row.id).MdmData.Source === value,
  trust_level: (row, value) => row.trust_level.toLowerCase() === value.toLowerCase(),
  trustscore_status: (row, value) => row.trust_status.toLowerCase() === value.toLowerCase(),
  role_names: hasAny('role_names'),
  last_login_before: (row, value) => row.last_login > 0 && BigInt(row.last_login) <= nanoseconds(value),
  last_login_after: (row, value) => row.last_login > 0 && BigInt(row.last_login) >= nanoseconds(value),
};

export const NAIVE_USERS: Naive = {
  name: same('name'),
  email: (row, value) => row.email.toLowerCase() === value.toLowerCase(),
  exact_email: (row, value) => row.email.toLowerCase() === value.toLowerCase(),
  serial_number: (row, value) =>
    [...older.values()].some((each) => each.SerialNumber === value && each.Emails.includes(row.email)),
  status: (row, value) => (row.last_login > 0 ? 'active' : 'invited') === value.toLowerCase(),
  active: (row, value) => Number(row.status === 'Active') === yes(value),
  role_names: hasAny('security_roles'),
  security_roles: hasAny('security_roles'),
  last_login_before: NAIVE_DEVICES.last_login_before as Naive[string],
  last_login_after: NAIVE_DEVICES.last_login_after as Naive[string],
};

export function expected(rows: Row[], naive: Naive, filters: Filters): Row[] {
  return rows.filter((row) => Object.entries(filters).every(([name, value]) => naive[name]?.(row, value)));
}

/** A value of this filter: of some record, or of none. */
export function valuesOf(name: string, sample: fc.Arbitrary<Row>): fc.Arbitrary<string> {
  const field: Record<string, (row: Row) => unknown> = {
    exact_serial_number: (row) => row.serial_number,
    email: (row) => row.extra_details?.emails[0] ?? row.email,
    exact_email: (row) => (row.extra_details?.emails[0] ?? row.email)?.toUpperCase(),
    active: () => 'true',
    source: (row) => row.mdm_vendor_name,
    trustscore_status: (row) => row.trust_status,
    serial_number: (row) =>
      row.serial_number ?? [...older.values()].find((each) => each.Emails.includes(row.email))?.SerialNumber,
    role_names: (row) => (row.role_names ?? row.security_roles).join('|'),
    security_roles: (row) => row.security_roles[0],
    last_login_before: (row) => row.last_login,
    last_login_after: (row) => row.last_login,
  };
  const own = sample.map((row) => String((field[name] ?? ((each: Row) => each[name]))(row) || '-'));
  const times = fc.integer({ min: START_MS - 300 * 86_400_000, max: START_MS });
  if (name.startsWith('last_login')) {
    const shorter = times.chain((ms) => fc.constantFrom(String(ms), String(Math.floor(ms / 1_000))));
    return fc.oneof(
      own.filter((text) => text.length === 19),
      shorter,
    );
  }
  if (['banned', 'active', 'mdm_present'].includes(name))
    return fc.constantFrom('true', 'FALSE', 'True', 'false', '1', '0');
  if (name === 'trust_level') return fc.constantFrom('low', 'HIGH', 'Medium', 'AlwaysDeny');
  if (name === 'trustscore_status') return fc.constantFrom('calculated', 'Overridden');
  if (name === 'status') return fc.constantFrom('active', 'Invited');
  const others =
    name === 'role_names'
      ? ['contractor', 'employee|nobody', 'contractor|employee']
      : ['no such value', "' OR 1=1 --", '%'];
  return fc.oneof({ weight: 5, arbitrary: own }, { weight: 1, arbitrary: fc.constantFrom(...others) });
}

export function filtersOf(rows: Row[], naive: Naive): fc.Arbitrary<Filters> {
  // Most filters of one combination are of the same record, so that something is left.
  return fc
    .constantFrom(...rows)
    .chain((row) =>
      fc
        .subarray(Object.keys(naive), { minLength: 1, maxLength: 5 })
        .chain((names) => fc.record(Object.fromEntries(names.map((name) => [name, valuesOf(name, fc.constant(row))])))),
    ) as fc.Arbitrary<Filters>;
}
