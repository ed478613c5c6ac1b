// cli: kept evidence of rules, for a report. In: the environment, the database. Out: a reader; undefined where none was made, which then
// costs nothing.
import { existsSync } from 'node:fs';
import type { Database } from '../../domain/database.ts';
import type { EvidenceReader } from '../../domain/evidence.ts';
import type { Io } from './io.ts';

/** Errors: AppError `config`. */
export async function evidenceOf(
  { env }: Pick<Io, 'env'>,
  { beside }: Pick<Database, 'beside'>,
): Promise<EvidenceReader | undefined> {
  if (!existsSync(`${beside}.history/evidence`)) return undefined;
  const { evidenceThresholdsOf } = await import('../../runtime/config/config.ts');
  const { evidenceFolder, evidenceReader } = await import('../../history/evidence/evidence-files.ts');
  return evidenceReader(evidenceFolder(beside), evidenceThresholdsOf(env));
}
