// http: whoever belongs to one organization reads, changes and learns nothing of another, over each store. TRUSTWARD_ATTACK_REQUESTS and
// TRUSTWARD_ATTACK_SEED change how many requests try it, and which.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attackedInPostgres } from '../../runtime/endpoint/attacked-endpoint.ts';
import { type Attacked, attackedInMemory } from '../../support/attacked.ts';
import { hasNoPostgres, NEEDS_POSTGRES } from '../../support/postgres.ts';
import { attackAddresses } from './attack-addresses.ts';
import { attack, OTHER, OWN } from './attacking.ts';

const REQUESTS = Number(process.env.TRUSTWARD_ATTACK_REQUESTS ?? 600);
const SEED = Number(process.env.TRUSTWARD_ATTACK_SEED ?? 16);

const STORES = [
  { name: 'SQLite stores', open: attackedInMemory, isMissing: false },
  { name: `one PostgreSQL database${NEEDS_POSTGRES}`, open: attackedInPostgres, isMissing: hasNoPostgres },
];

for (const { name, open, isMissing } of STORES)
  describe.skipIf(isMissing)(`an endpoint of organizations in ${name}`, () => {
    let on: Attacked;
    beforeAll(async () => {
      on = await open([OWN, OTHER]);
    }, 300_000);
    afterAll(() => on?.close(), 60_000);

    it('lets requests of one organization at another read, change and tell nothing', {
      timeout: 1_200_000 + REQUESTS * 200,
    }, async () => {
      const { faults, answers, requests } = await attack(on, REQUESTS, SEED);
      expect(faults).toEqual([]);
      const line = [...answers].sort().map(([key, count]) => `${key}: ${count}`);
      process.stdout.write(
        `${requests} requests with the rights of one organization at another in ${name}: ${line.join(', ')}\n`,
      );
      for (const key of ['the other 401', 'the other 303', 'the other 404', 'its own 200', 'its own 404'])
        expect([...answers.keys()]).toContain(key);
      expect([...answers.keys()]).not.toContain('the other 202');
    });

    it('answers addresses that no client sends with nothing of another organization', {
      timeout: 600_000,
    }, async () => {
      const { faults, requests } = await attackAddresses(on);
      expect(faults).toEqual([]);
      expect(requests).toBeGreaterThan(200);
    });
  });
