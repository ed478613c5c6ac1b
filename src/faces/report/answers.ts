// report: answers that cross a process: `why` and `explain`, as JSON and back, by the schemas that describe them. In: the answer of explain, or the
// JSON of another process. Out: the other of the two. Times are ISO 8601 in JSON and epoch milliseconds in the answer.
import { z } from 'zod';
import { plainJson } from '../../base/json.ts';
import { explained, factsAt, why } from '../../contract/answers.ts';
import { AppError } from '../../domain/errors.ts';
import type { ExplainedSubject, WhyAnswer } from '../../domain/why.ts';

export const whyJson = (answer: WhyAnswer): object => jsonOf(why, answer);
export const explainedJson = (answer: ExplainedSubject): object => jsonOf(explained, answer);
export const factsAtJson = (answer: object): object => jsonOf(factsAt, answer);

/** Errors: AppError `internal` when the text is not of this version. */
export const whyOfJson = (text: string): WhyAnswer => answerOf(why, text) as unknown as WhyAnswer;
export const explainedOfJson = (text: string): ExplainedSubject =>
  answerOf(explained, text) as unknown as ExplainedSubject;

function jsonOf<T extends z.ZodType>(schema: T, answer: object): object {
  return z.encode(schema, plainJson(answer) as z.output<T>) as object;
}

function answerOf<T extends z.ZodType>(schema: T, text: string): z.output<T> {
  const parsed = z.safeDecode(schema, JSON.parse(text) as z.input<T>);
  if (parsed.success) return parsed.data;
  const where = parsed.error.issues[0]?.path.join('.') ?? '';
  throw new AppError('internal', `the daemon answered in another form than this version reads (\`${where}\`)`);
}
