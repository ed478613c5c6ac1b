// store: numbers that PostgreSQL gives to new rows are greater than those that came with a move. In: the connection of a transaction, an
// organization. Out: nothing. Sequences are shared by all organizations, so they only go up, and nobody takes a number meanwhile.
import { named } from './organization.ts';
import type { Client } from './pool.ts';

const NUMBERED = `SELECT relname AS "table", attname AS "column", pg_get_serial_sequence('trustward.' || relname, attname) AS sequence
  FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
  WHERE relnamespace = 'trustward'::regnamespace AND attidentity <> '' AND relname <> 'row_changes' ORDER BY 1`;

interface Numbered {
  table: string;
  column: string;
  sequence: string;
}

/** In the order of their names, so that two moves do not wait for each other. The role that logged in owns them. */
export async function ahead(client: Client, organization: string): Promise<void> {
  const { rows } = await client.query<Numbered>(NUMBERED);
  for (const { table, column, sequence } of rows) {
    const most = await client.query(`SELECT coalesce(max(${column}), 0) AS most FROM trustward.${table}`);
    await client.query('SET LOCAL ROLE NONE');
    // INVARIANT: changing it, even into itself, locks it until the commit: no number is given between reading and setting.
    await client.query(`ALTER SEQUENCE ${sequence} NO CYCLE`);
    const last = await client.query(`SELECT last_value FROM ${sequence}`);
    const next = BigInt(most.rows[0].most) + 1n;
    if (next > BigInt(last.rows[0].last_value)) await client.query(`ALTER SEQUENCE ${sequence} RESTART WITH ${next}`);
    await client.query(named(organization));
  }
}
