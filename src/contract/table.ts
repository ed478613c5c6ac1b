// contract: the table of operations, in the order of the document. In: the entries of each family. Out: all of them by id, and the port of whoever
// needs one: the engine in this process (`runtime/operations`), or a client over HTTP (`client.ts`).
import { type Asking, type Entry, type InputOf, type OutputOf, type ParsedOf, parsedInput } from './operation.ts';
import { DOUBTS, EXEMPTIONS, PEOPLE, REQUESTS, ROLLOUTS, SWITCHES, TOKENS } from './operator.ts';
import { PLANS, RUNS } from './plans.ts';
import { AUDIT, EXPLANATIONS, PAST, RECORDS, RULES } from './records.ts';
import { REPLAYS } from './replay.ts';

export const OPERATIONS = {
  ...RUNS,
  ...PLANS,
  ...RECORDS,
  ...PAST,
  ...AUDIT,
  ...EXPLANATIONS,
  ...RULES,
  ...REPLAYS,
  ...EXEMPTIONS,
  ...REQUESTS,
  ...SWITCHES,
  ...ROLLOUTS,
  ...DOUBTS,
  ...PEOPLE,
  ...TOKENS,
};

export type OperationId = keyof typeof OPERATIONS;
export const OPERATION_IDS = Object.keys(OPERATIONS) as readonly OperationId[];

export type Input<Id extends OperationId> = InputOf<(typeof OPERATIONS)[Id]>;
export type Parsed<Id extends OperationId> = ParsedOf<(typeof OPERATIONS)[Id]>;
export type Output<Id extends OperationId> = OutputOf<(typeof OPERATIONS)[Id]>;

/** What the engine offers. Errors of all: AppError `usage` for the input, and those that the operation names. */
export type Operations = { readonly [Id in OperationId]: (input: Input<Id>) => Promise<Output<Id>> };

/** Does an operation whose input is parsed already. */
export interface Performer {
  perform<Id extends OperationId>(id: Id, input: Parsed<Id>, asking: Asking): Promise<Output<Id>>;
}

/** The port, made of whatever does one operation after its input was parsed. `spelled`: how the place of a fault is called. */
export function operationsWith(
  does: <Id extends OperationId>(id: Id, parsed: Parsed<Id>, input: Input<Id>) => Promise<Output<Id>>,
  spelled?: (id: OperationId, path: string) => string,
): Operations {
  const of =
    <Id extends OperationId>(id: Id) =>
    async (input: Input<Id>) => {
      const one: Entry = OPERATIONS[id];
      const parsed = parsedInput(one, input as object, spelled && ((path) => spelled(id, path)));
      return does(id, parsed as Parsed<Id>, input);
    };
  return Object.fromEntries(OPERATION_IDS.map((id) => [id, of(id)])) as unknown as Operations;
}

/** The operations of this process, for one who asks. */
export function operationsFor(performer: Performer, asking: Asking): Operations {
  return operationsWith((id, parsed) => performer.perform(id, parsed, asking));
}
