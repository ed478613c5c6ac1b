// fidelity: a real daemon that records is killed (kill -9) at random moments: its history has whole runs alone, and replays to what was decided.
import { rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import { killedLine, proofOfKilled } from './killed-proof.ts';
import { recordAndDie } from './killed-recording.ts';

const KILLS = 4;
const LIMIT_MS = 300_000;

it(
  'a daemon that is killed while it records leaves whole runs, and the next one records on',
  async () => {
    const recording = await recordAndDie(1, KILLS);
    const { org, kills, merges } = recording;
    try {
      const proof = await proofOfKilled(recording);
      process.stdout.write(`${killedLine(recording, proof)}\n`);
      expect(proof.faults).toEqual([]);
      expect(kills).toBe(KILLS);
      expect(merges).toBeGreaterThan(0);
      expect(proof.recorded).toBeGreaterThan(KILLS / 2);
    } finally {
      await org.console.close();
      rmSync(org.dir, { recursive: true, force: true });
    }
  },
  LIMIT_MS,
);
