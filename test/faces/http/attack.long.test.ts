// http: the longer run: 10,000 requests of one organization at another, over PostgreSQL as `trustward serve` does, and over SQLite stores. Not part of
// the normal run.
import { describe, expect, it } from 'vitest';
import { attackedInPostgres } from '../../runtime/endpoint/attacked-endpoint.ts';
import { attackedInMemory } from '../../support/attacked.ts';
import { hasNoPostgres, NEEDS_POSTGRES } from '../../support/postgres.ts';
import { attack, OTHER, OWN } from './attacking.ts';

const STORES = [
  { name: 'SQLite stores', open: attackedInMemory, isMissing: false },
  { name: `one PostgreSQL database${NEEDS_POSTGRES}`, open: attackedInPostgres, isMissing: hasNoPostgres },
];

for (const { name, open, isMissing } of STORES)
  describe.skipIf(isMissing)(`an endpoint of organizations in ${name}`, () => {
    it('lets 10,000 requests of one organization at another read, change and tell nothing', {
      timeout: 3_600_000,
    }, async () => {
      const on = await open([OWN, OTHER]);
      try {
        const { faults, answers, requests } = await attack(on, 10_000, 10_000);
        expect(faults).toEqual([]);
        expect(requests).toBeGreaterThan(10_000);
        const line = [...answers].sort().map(([key, count]) => `${key}: ${count}`);
        process.stdout.write(`${requests} requests at another organization in ${name}: ${line.join(', ')}\n`);
      } finally {
        await on.close();
      }
    });
  });
