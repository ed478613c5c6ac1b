// console store: criteria for end users, and reading them. In: a filter. Out: criteria for a listing, or single rows.
// It changes nothing.
import { type Criteria, criteriaOf, type ListSource } from './listing.ts';
import { ENDUSER_JSON } from './records.ts';
import type { ConsoleStore } from './store.ts';

/** All compare exactly; an e-mail address in any case. */
export interface EnduserFilter {
  serial?: string | undefined;
  email?: string | undefined;
  name?: string | undefined;
}

export const ENDUSERS: ListSource = { table: 'enduser', json: ENDUSER_JSON };

/** Columns by the name that `OrderBy` gives them. */
export const ENDUSER_ORDER_COLUMNS = {
  email: 'email',
  name: 'name',
  lastlogin: 'last_login',
  logincount: 'login_count',
  created_at: 'created_at',
  createdat: 'created_at',
} as const;

export const ENDUSERS_OF_SERIAL =
  'pk IN (SELECT enduser_pk FROM mapping WHERE device_pk IN (SELECT pk FROM device WHERE serial = ?))';

export function enduserCriteria(...filters: EnduserFilter[]): Criteria {
  return criteriaOf(
    filters.flatMap((filter) => [
      [ENDUSERS_OF_SERIAL, filter.serial],
      ['email = ?', filter.email],
      ['name = ?', filter.name],
    ]),
  );
}

export interface EnduserRow {
  pk: number;
  email: string;
  name: string;
  groups: string;
  roles: string;
}

export function enduserOfEmail(store: ConsoleStore, email: string): EnduserRow | undefined {
  return store.sql.get<EnduserRow>('SELECT pk, email, name, groups, roles FROM enduser WHERE email = ?', email);
}

/** The people registered on a device, in the order in which they registered. */
export function ownersOfDevice(store: ConsoleStore, devicePk: number): EnduserRow[] {
  return store.sql.all<EnduserRow>(
    `SELECT u.pk, u.email, u.name, u.groups, u.roles FROM mapping m JOIN enduser u ON u.pk = m.enduser_pk
      WHERE m.device_pk = ? ORDER BY m.issued_at, u.pk`,
    devicePk,
  );
}
