// report: answers that cross a process: `why` and `explain`, as JSON, by the schemas that describe them. In: the answer of explain. Out: JSON. Times are ISO 8601 in JSON and epoch milliseconds in the answer.
import { z } from 'zod';
import { plainJson } from '../../base/json.ts';
import { explained, factsAt, why } from '../../contract/answers.ts';
import type { ExplainedSubject, WhyAnswer } from '../../domain/why.ts';

export const whyJson = (answer: WhyAnswer): object => jsonOf(why, answer);
export const explainedJson = (answer: ExplainedSubject): object => jsonOf(explained, answer);
export const factsAtJson = (answer: object): object => jsonOf(factsAt, answer);

function jsonOf<T extends z.ZodType>(schema: T, answer: object): object {
  return z.encode(schema, plainJson(answer) as z.output<T>) as object;
}
