// store: links to persons' own pages: the secret that seals them, and which of them are refused. No link is kept. In: a connection, and for
// writing the store's unit of work. Out: the port of domain/person-link.ts.

import type { AuditNote } from '../domain/audit-entry.ts';
import { nameKey } from '../domain/identity.ts';
import type { LinkRefusal, PersonLinkStore } from '../domain/person-link.ts';
import type { Unit } from './outbox.ts';
import { type Db, keepMeta, readMeta, type Work } from './queries.ts';

/** The key of a row in `meta`. A copy of the database has it, too: links go on after a restore. */
export const PERSON_SECRET = 'person_link_secret';

export class SqlPersonLinks implements PersonLinkStore {
  constructor(
    private readonly db: Db,
    private readonly unit: Unit & { seal(): Work<unknown> },
  ) {}

  async secret(): Promise<string | undefined> {
    return this.db.reading(readMeta(this.db, PERSON_SECRET));
  }

  keepSecret(fresh: string, notes: AuditNote[]): Promise<string> {
    const { db, unit } = this;
    return unit.run(function* () {
      const known = yield* readMeta(db, PERSON_SECRET);
      if (known === undefined) yield* keepMeta(db, PERSON_SECRET, fresh);
      unit.append(notes);
      return known ?? fresh;
    });
  }

  renewSecret(fresh: string, notes: AuditNote[]): Promise<void> {
    const { db, unit } = this;
    return unit.run(function* () {
      yield* keepMeta(db, PERSON_SECRET, fresh);
      unit.append(notes);
      yield* unit.seal();
    });
  }

  async refusedBefore(person: string): Promise<number | undefined> {
    const sql = 'SELECT before_at AS at FROM person_links_refused WHERE person = ?';
    const row = await this.db.reading(this.db.get<{ at: number }>(sql, nameKey(person)));
    return row && Number(row.at);
  }

  async refuse({ person, before }: LinkRefusal, notes: AuditNote[]): Promise<void> {
    const { db, unit } = this;
    await unit.run(function* () {
      yield* db.upsert('person_links_refused', { person: nameKey(person), before_at: before }, 'person');
      unit.append(notes);
      yield* unit.seal();
    });
  }
}
