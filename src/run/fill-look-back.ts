// run: what rules that look back know of the past, filled from the history once in a process and after each change of the rules. In: an evaluator.
// Out: nothing but what it knows. A history that cannot be read leaves the past unknown, and fails no run.
import { lineOf } from '../domain/errors.ts';
import { LOOK_BACK_GAP_MS, type LookBackSource } from '../domain/look-back.ts';
import type { Log } from '../domain/ports.ts';
import type { SubjectRef } from '../domain/subjects.ts';
import type { Evaluator } from '../domain/verdict.ts';

/** `subject`: only this one is judged afterwards; absent: all. */
export async function fillLookBack(
  { lookBack: source, log }: { lookBack?: LookBackSource | undefined; log?: Log | undefined },
  { lookBack }: Pick<Evaluator, 'lookBack'>,
  nowMs: number,
  subject?: SubjectRef,
): Promise<void> {
  if (!source || !lookBack || lookBack.isFilled) return;
  const fromMs = Math.max(0, nowMs - lookBack.withinMs - LOOK_BACK_GAP_MS);
  lookBack.observe({ kind: 'anew' });
  try {
    for await (const item of source.items(lookBack.paths, fromMs, subject)) lookBack.observe(item);
    lookBack.filled();
  } catch (error) {
    lookBack.observe({ kind: 'anew' });
    log?.warn({}, `the history could not be read, so that rules that look back are unknown: ${lineOf(error)}`);
  }
}
