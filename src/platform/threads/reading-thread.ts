// platform: the whole of a reading thread. In: messages with rules, events, what judging needs, and pieces of a list. Out: for each piece what
// it had, read and judged. It asks nobody for anything, keeps no record, and ends with its process.
import { deserialize } from 'node:v8';
import { parentPort, type Transferable, workerData } from 'node:worker_threads';
import type { PieceRead } from '../../domain/lists.ts';
import { isNewVerdict, type PassSetup, type RecordPart } from '../../domain/record-part.ts';
import { KIND_OF } from '../../domain/subjects.ts';
import { type Evaluator, FLIPS_MAX, type JudgeContext } from '../../domain/verdict.ts';
import { PartReader } from '../../engine/pull/part-reader.ts';
import { RecordPartReader } from '../../engine/pull/record-pass.ts';
import { compileRules } from '../../rules/judge/evaluator.ts';
import { rulesOf } from '../../rules/load/read-rule.ts';
import { readPiece } from '../client/list-pieces.ts';
import type { FromThread, SentSetup, ThreadStart, ToThread } from './reader-pool.ts';

const EVALUATORS_MAX = 2;
const port = parentPort;
const evaluators = new Map<number, Evaluator>();
let reader: PartReader | undefined;
/** One for all passes, which are of one database and have its key: it knows the records of the passes before. */
let records: RecordPartReader | undefined;

function readerOf(
  evaluator: Evaluator,
  { plain, flipsLeft, isExampleWanted, prints, recordPrints, given }: SentSetup,
): PartReader {
  const setup = deserialize(plain) as Omit<PassSetup, keyof SentSetup>;
  const { source, fieldsWritten, watched, decided, nowMs, latestMs, joins, coverage, unavailable, printKey } = setup;
  const kind = KIND_OF[source];
  evaluator.advance(nowMs);
  const makeJudge = () => {
    let isWanted = false;
    let wanted = 0;
    const context: JudgeContext = {
      nowMs,
      fieldsWritten,
      joins,
      given,
      coverage,
      unavailable,
      isOpen: (rule, subjectId) => watched.get(subjectId)?.has(rule) ?? false,
      hasOpen: (subjectId) => watched.has(subjectId),
      isExampleWanted: (rule) => isExampleWanted[rule] === 1,
      flips: {
        // Where a flip is wanted, the record is passed on: how many are looked for is known where all parts meet.
        isNew: (rule, subjectId, verdict) => {
          isWanted ||= isNewVerdict(decided, rule, subjectId, verdict);
          return false;
        },
        budget: { flips: flipsLeft[0] as number, tries: 1 },
      },
    };
    const judge = evaluator.judgePart(kind, context);
    return {
      judge,
      isWanted: () => {
        const was = isWanted && wanted < FLIPS_MAX;
        if (was) wanted += 1;
        isWanted = false;
        return was;
      },
    };
  };
  records ??= new RecordPartReader(kind, printKey, (workerData as ThreadStart).isOnce);
  records.follow(recordPrints, latestMs);
  return new PartReader({ source, fieldsWritten, prints, records, makeJudge });
}

function take(message: ToThread): void {
  if (message.kind === 'rules') {
    evaluators.set(message.evaluator, compileRules(rulesOf(message.rules), message.rules.lists));
    const [oldest] = evaluators.keys();
    if (evaluators.size > EVALUATORS_MAX) evaluators.delete(oldest as number);
  } else if (message.kind === 'events') evaluators.get(message.evaluator)?.observe(message.events);
  else if (message.kind === 'pass') {
    const evaluator = evaluators.get(message.evaluator);
    reader = evaluator && readerOf(evaluator, message.setup);
  } else {
    const { number, piece } = message;
    try {
      const read = readPiece(piece, (batches) => (reader as PartReader).read(batches));
      answer({ kind: 'read', number, read }, buffersOf(read));
    } catch (error) {
      answer({ kind: 'failed', number, words: error instanceof Error ? error.message : 'unknown' }, []);
    }
    // Freed now, not when the collector comes by.
    piece.bytes.buffer.transfer(0);
  }
}

function answer(message: FromThread, buffers: Transferable[]): void {
  port?.postMessage(message, buffers);
}

function buffersOf({ result: { keys, fleet, identities, changed } }: PieceRead<RecordPart>): ArrayBuffer[] {
  const arrays = [keys.ids, fleet.ids, fleet.rows, fleet.starts, fleet.serialHashes, fleet.kindOf, identities, changed];
  const buffers = arrays.flatMap((array) =>
    ArrayBuffer.isView(array) && array.byteLength === array.buffer.byteLength ? [array.buffer] : [],
  );
  return [...new Set(buffers)] as ArrayBuffer[];
}

port?.on('message', take);
