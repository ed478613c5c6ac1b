// audit: compares the checkpoints in the database with those in the file outside. In: the lines of both. Out: what the
// chain must agree with, and the first wrong checkpoint. Pure.
import { type Checkpoint, checkpointLine } from '../domain/checkpoint.ts';
import { type CheckpointFault, type CheckpointList, checkCheckpoints, type PublicKeys } from './checkpoint.ts';

export interface ComparedLists {
  /** By size; both where the two differ. */
  expected: { checkpoint: Checkpoint; place: string }[];
  fault: CheckpointFault | undefined;
}

const IN_DATABASE = 'in the database';

/** `fileLines` undefined: the file is missing. */
export function compareLists(
  tableLines: readonly string[],
  fileLines: readonly string[] | undefined,
  fileName: string,
  keys: PublicKeys,
): ComparedLists {
  const inFile = `in \`${fileName}\``;
  const table = checkCheckpoints(tableLines, keys);
  const file = checkCheckpoints(fileLines ?? [], keys);
  const faults = [
    placed(table.fault, IN_DATABASE),
    placed(file.fault, inFile),
    differenceOf(table, file, fileName, fileLines === undefined),
  ];
  const first = faults.filter((fault) => fault !== undefined).sort((a, b) => a.size - b.size)[0];
  return { expected: merge(table.good, file.good, inFile), fault: first };
}

function placed(fault: CheckpointFault | undefined, place: string): CheckpointFault | undefined {
  return fault && { ...fault, reason: `${place} ${fault.reason}` };
}

function differenceOf(
  table: CheckpointList,
  file: CheckpointList,
  name: string,
  isMissing: boolean,
): CheckpointFault | undefined {
  const common = Math.min(table.good.length, file.good.length);
  for (let at = 0; at < common; at += 1) {
    const [inTable, inFile] = [table.good[at] as Checkpoint, file.good[at] as Checkpoint];
    if (checkpointLine(inTable) !== checkpointLine(inFile)) {
      const size = Math.min(inTable.size, inFile.size);
      return { size, reason: `in the database differs from that in \`${name}\`: the chain was rebuilt from there on` };
    }
  }
  const extraInFile = table.fault ? undefined : file.good[common];
  if (extraInFile) {
    const reason = `is in \`${name}\`, but not in the database: an older backup was restored, or the database was changed`;
    return { size: extraInFile.size, reason };
  }
  const extraInTable = file.fault ? undefined : table.good[common];
  if (!extraInTable) return undefined;
  const reason = isMissing
    ? `is in the database, but not outside: the file \`${name}\` is missing`
    : `is in the database, but not in \`${name}\`: the file was cut, or a process ended before it could write (the next start completes it)`;
  return { size: extraInTable.size, reason };
}

function merge(table: Checkpoint[], file: Checkpoint[], inFile: string): ComparedLists['expected'] {
  const known = new Set(table.map(checkpointLine));
  const others = file.filter((checkpoint) => !known.has(checkpointLine(checkpoint)));
  return [
    ...table.map((checkpoint) => ({ checkpoint, place: IN_DATABASE })),
    ...others.map((checkpoint) => ({ checkpoint, place: inFile })),
  ].sort((a, b) => a.checkpoint.size - b.checkpoint.size);
}
