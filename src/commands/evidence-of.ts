// commands: kept evidence of rules, for a report. In: the environment, the database. Out: a reader; undefined where no history is kept, which
// then costs nothing.
import { existsSync } from 'node:fs';
import { evidenceThresholdsOf } from '../config/evidence.ts';
import type { EvidenceReader } from '../domain/evidence.ts';
import type { Io } from './io.ts';

/** Errors: AppError `config`. */
export async function evidenceOf({ env }: Pick<Io, 'env'>, database: string): Promise<EvidenceReader | undefined> {
  const thresholds = evidenceThresholdsOf(env);
  if (!existsSync(`${database}.history`)) return undefined;
  const { evidenceFolder, evidenceReader } = await import('../history/evidence/evidence-files.ts');
  return evidenceReader(evidenceFolder(database), thresholds);
}
