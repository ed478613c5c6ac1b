// fidelity: a real daemon that records is killed (kill -9) at random moments: its history has whole runs alone, and replays to what was decided.
import { rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import { proofOfKilled } from './killed-proof.ts';
import { recordAndDie } from './killed-recording.ts';

const KILLS = 10;
const LIMIT_MS = 240_000;

it(
  'a daemon that is killed while it records leaves whole runs, and the next one records on',
  async () => {
    const { org, kills } = await recordAndDie(1, KILLS);
    try {
      const { runs, recorded, gaps, faults } = await proofOfKilled(org);
      process.stdout.write(
        `${kills} kills, ${runs} runs, ${recorded} recorded, ${gaps} gaps: ${faults.length} faults\n`,
      );
      expect(faults).toEqual([]);
      expect(kills).toBe(KILLS);
      expect(recorded).toBeGreaterThan(KILLS / 2);
    } finally {
      await org.console.close();
      rmSync(org.dir, { recursive: true, force: true });
    }
  },
  LIMIT_MS,
);
