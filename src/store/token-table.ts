// store: the table of the HTTP endpoint's tokens. It holds hashes, never a token. Rows to nouns and back.
// In: a connection, and for writing the store's unit of work. Out: the port of domain/endpoint-token.ts.
import { differencesText } from '../domain/acting-tables.ts';
import type { AuditNote } from '../domain/audit-entry.ts';
import type { EndpointToken, TokenStore } from '../domain/endpoint-token.ts';
import type { Newest } from '../domain/record-reader.ts';
import type { ChangedTables } from './acting-tables.ts';
import { newest } from './lists.ts';
import type { Unit } from './outbox.ts';
import type { Db, Row, Work } from './queries.ts';
import { editedFault } from './store-fault.ts';
import { Where } from './where.ts';

/** The newest first. */
export function* readTokens(db: Db): Work<EndpointToken[]> {
  return (yield* db.all('SELECT * FROM endpoint_tokens ORDER BY created_at DESC, id DESC')).map(tokenOfRow);
}

/** A person made each of them: they are few, and no index has their order. */
export function* tokenPage(db: Db, { before, limit }: { before?: string; limit: number }): Work<Newest<EndpointToken>> {
  const { rows, total } = yield* newest(db, 'endpoint_tokens', new Where(), 'created_at', limit, before);
  return { rows: rows.map(tokenOfRow), total };
}

export class SqlTokens implements TokenStore {
  constructor(
    private readonly db: Db,
    private readonly unit: Unit & { seal(): Work<unknown> },
    private readonly tables: Pick<ChangedTables, 'differenceOf'>,
  ) {}

  /** None when somebody changed the table beside the engine: nobody can say then which of them an admin gave. */
  async inUse(): Promise<EndpointToken[]> {
    const difference = await this.db.reading(this.tables.differenceOf(this.db, 'endpoint_tokens'));
    if (difference) this.db.noteFault(editedFault(differencesText([difference])));
    if (difference) return [];
    return (await this.db.reading(this.db.all('SELECT * FROM endpoint_tokens WHERE revoked_at IS NULL'))).map(
      tokenOfRow,
    );
  }

  async save(token: EndpointToken, notes: AuditNote[]): Promise<void> {
    const { db, unit } = this;
    await unit.run(function* () {
      yield* db.upsert('endpoint_tokens', rowOfToken(token), 'id');
      unit.append(notes);
      yield* unit.seal();
    });
  }

  async noteUse(id: string, at: number): Promise<void> {
    await this.unit.run(() => this.db.run('UPDATE endpoint_tokens SET used_at = ? WHERE id = ?', at, id));
  }
}

export function rowOfToken(token: EndpointToken): Row {
  return {
    id: token.id,
    name: token.name,
    scope: token.scope,
    hash: token.hash,
    created_at: token.createdAt,
    created_by: token.createdBy,
    expires_at: token.expiresAt ?? null,
    revoked_at: token.revokedAt ?? null,
    revoked_by: token.revokedBy ?? null,
    used_at: token.usedAt ?? null,
  };
}

export function tokenOfRow(row: Row): EndpointToken {
  return {
    id: row.id as string,
    name: row.name as string,
    scope: row.scope as EndpointToken['scope'],
    hash: row.hash as string,
    createdAt: row.created_at as number,
    createdBy: row.created_by as string,
    expiresAt: (row.expires_at as number | null) ?? undefined,
    revokedAt: (row.revoked_at as number | null) ?? undefined,
    revokedBy: (row.revoked_by as string | null) ?? undefined,
    usedAt: (row.used_at as number | null) ?? undefined,
  };
}
