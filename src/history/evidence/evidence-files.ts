// history: evidence as files beside the history, one for each content of a rule. In: a folder. Out: evidence by the hash of a rule; a file that
// is written whole or not at all (0600). INVARIANT: reading computes nothing and never throws: a damaged or foreign file is no evidence.
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { makeFolderSync, writeWhole } from '../../base/files.ts';
import type { EvidenceReader, EvidenceThresholds, RuleEvidence } from '../../domain/evidence.ts';

const VERSION = 1;
const NAME = /^[0-9a-f]{64}\.json$/;
/** Of contents that no rule has had for this long. */
const KEPT_MS = 180 * 86_400_000;
/** A folder that somebody filled is not read whole with every page. */
const FILES_MAX = 5_000;

const count = z.int().min(0);
const form = z.object({
  version: z.literal(VERSION),
  ruleHashes: z.array(z.string()),
  evidence: z.object({
    rule: z.string(),
    content: z.string(),
    madeAtMs: z.number(),
    tests: z.object({
      passed: count,
      failed: count,
      matching: count,
      others: count,
      coveredPercent: z.number(),
      mutants: z.object({ tried: count, survived: count }),
      hash: z.string(),
    }),
    replayed: z
      .object({
        fromMs: z.number(),
        toMs: z.number(),
        runs: count,
        coveredMs: z.number(),
        gaps: count,
        matches: count,
        acts: count,
        mostInRun: count,
        mostTargets: count,
        allowed: count.nullable(),
        flaps: count,
        unknown: count,
        subjects: count,
      })
      .optional(),
  }),
});

/** Beside the database: the folder of the history has it. */
export function evidenceFolder(db: string): string {
  return join(`${db}.history`, 'evidence');
}

/** Errors: those of node:fs. */
export function keepEvidence(folder: string, evidence: RuleEvidence, ruleHashes: readonly string[]): void {
  makeFolderSync(folder);
  const text = JSON.stringify({ version: VERSION, ruleHashes, evidence }, null, 1);
  writeWhole(join(folder, `${evidence.content}.json`), `${text}\n`, 0o600);
}

/** Removes what was made long ago and never again. */
export function dropOldEvidence(folder: string, nowMs: number): void {
  for (const file of namesIn(folder)) {
    const kept = readKept(join(folder, file));
    if (kept && kept.evidence.madeAtMs < nowMs - KEPT_MS) rmSync(join(folder, file), { force: true });
  }
}

/** A reader that reads the folder again after it changed. */
export function evidenceReader(folder: string, thresholds: EvidenceThresholds): EvidenceReader {
  let known = new Map<string, RuleEvidence>();
  let asOf: number | undefined;
  return {
    thresholds,
    isKept: () => statSync(dirname(folder), { throwIfNoEntry: false })?.isDirectory() ?? false,
    of: (ruleHash) => {
      // Each file comes by a rename, which changes the folder.
      const changed = changedAt(folder);
      if (changed !== asOf) known = readAll(folder);
      asOf = changed;
      return known.get(ruleHash);
    },
  };
}

function readAll(folder: string): Map<string, RuleEvidence> {
  const byHash = new Map<string, RuleEvidence>();
  for (const file of namesIn(folder)) {
    const kept = readKept(join(folder, file));
    for (const hash of kept?.ruleHashes ?? []) byHash.set(hash, kept?.evidence as RuleEvidence);
  }
  return byHash;
}

function readKept(file: string): { ruleHashes: readonly string[]; evidence: RuleEvidence } | undefined {
  try {
    const { ruleHashes, evidence } = form.parse(JSON.parse(readFileSync(file, 'utf8')));
    return { ruleHashes, evidence: { ...evidence, replayed: evidence.replayed } };
  } catch {
    return undefined;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => NAME.test(name))
      .slice(0, FILES_MAX);
  } catch {
    return []; // there is no history, or it cannot be read
  }
}

function changedAt(folder: string): number | undefined {
  return statSync(folder, { throwIfNoEntry: false })?.mtimeMs;
}
