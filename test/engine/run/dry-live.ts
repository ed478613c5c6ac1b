// test: a dry run and the live run that follows it on the same snapshot, after a random history. In: a case, and the
// platform's answers in the live run. Out: the actions that the dry run names, the requests that the platform then
// receives, those that it receives without a dry run before, and those of the dry run itself.
import fc from 'fast-check';
import { expect } from 'vitest';
import { type Case, caseOf, FIELDS, type ReportedFlag, type Step, type Subject, subject } from '../../support/cases.ts';
import type { Answer } from '../../support/platform.ts';
import { ACTION_OF } from './sights.ts';
import { Stage } from './stage.ts';

export interface DryLiveCase extends Case {
  /** What happens last, so that there is something to do. */
  last: Step[];
  /** Fewer than the failures after which a run stops acting: no dry run can know of them. */
  answers: [Subject, Answer][];
}

export interface Compared {
  /** `ban_device S1`, sorted, without notices, which send no request. */
  said: string[];
  /** The same of the requests that the platform received, without the retries. */
  sent: string[];
  /** Requests that repeat an intent which was in doubt, and which the dry run left so. */
  retried: string[];
  /** Both of the same live run without a dry run before it. */
  sentUndisturbed: string[];
  retriedUndisturbed: string[];
  writtenByDryRun: number;
}

const trouble = fc.record({
  do: fc.constant('facts' as const),
  of: subject,
  field: fc.constantFrom(...FIELDS),
  told: fc.constantFrom<ReportedFlag>('TRUE', 'TRUE', 'FALSE'),
});
const answer = fc.tuple(subject, fc.constantFrom<Answer[]>('failed', 'lost', 'hidden', 'late'));

export const dryLiveCase: fc.Arbitrary<DryLiveCase> = fc
  .record({
    given: caseOf({ min: 0, max: 16 }),
    isResumed: fc.constantFrom(true, true, true, false),
    troubles: fc.array(trouble, { minLength: 2, maxLength: 6 }),
    ms: fc.constantFrom(1_000, 40_000, 400_000),
    answers: fc.array(answer, { maxLength: 4 }),
  })
  .map(({ given, isResumed, troubles, ms, answers }) => {
    const before: Step[] = isResumed ? [{ do: 'resume' }, { do: 'pass', ms }] : [{ do: 'pass', ms }];
    return { ...given, last: [...before, ...troubles], answers };
  });

export async function compareDryWithLive(given: DryLiveCase): Promise<Compared> {
  const withDry = await lastRuns(given, true);
  const without = await lastRuns(given, false);
  return { ...withDry, sentUndisturbed: without.sent, retriedUndisturbed: without.retried };
}

export interface DryLiveFigures {
  cases: number;
  intents: number;
  calls: number;
  retries: number;
  writtenByDryRuns: number;
}

/** Errors: fast-check's, with the smallest case that it finds. */
export async function compareMany(numRuns: number, seed: number): Promise<DryLiveFigures> {
  const figures = { cases: 0, intents: 0, calls: 0, retries: 0, writtenByDryRuns: 0 };
  const property = fc.asyncProperty(dryLiveCase, async (given) => {
    const compared = await compareDryWithLive(given);
    const { said, sent, retried, writtenByDryRun } = compared;
    figures.cases += 1;
    figures.intents += said.length;
    figures.calls += sent.length;
    figures.retries += retried.length;
    figures.writtenByDryRuns += writtenByDryRun;
    expect({ said, written: writtenByDryRun }).toEqual({ said: sent, written: 0 });
    expect(new Set(retried).size).toBe(retried.length);
    const { sentUndisturbed, retriedUndisturbed } = compared;
    expect({ sent, retried }).toEqual({ sent: sentUndisturbed, retried: retriedUndisturbed });
  });
  await fc.assert(property, { numRuns, seed });
  return figures;
}

export function figuresLine({ cases, intents, calls, retries, writtenByDryRuns }: DryLiveFigures): string {
  return `${cases} cases, ${intents} intents compared with ${calls} calls and ${retries} retries, dry-run writing requests ${writtenByDryRuns}`;
}

async function lastRuns(
  given: DryLiveCase,
  isDryFirst: boolean,
): Promise<Omit<Compared, 'sentUndisturbed' | 'retriedUndisturbed'>> {
  const stage = new Stage(given);
  try {
    for (const step of given.history) await stage.take(step);
    await stage.calm();
    for (const step of given.last) await stage.take(step);
    for (const [about, answer] of given.answers) await stage.take({ do: 'answers', of: about, next: [answer] });
    const { on } = stage;
    const { platform } = on;
    const before = platform.sent.length;
    const dry = isDryFirst ? await onSameTime(stage, () => on.run('dry-run')) : undefined;
    const afterDry = platform.sent.length;
    // What a killed run left as sent is in doubt too, and is named so by the run that finds it: the dry one, where there is one.
    const left = await on.store.intents({ status: 'sent' });
    const doubts = [...left, ...(await on.store.intents({ outcome: 'unknown' }))].map(nameOf);
    await on.run('enforce');
    const sent = platform.sent.slice(afterDry).map(nameOfCall);
    const isLiveDry = given.daemonMode === 'dry-run'; // then what is called live is a dry run too
    const planned = (dry?.plan?.intents ?? []).filter(({ held, action }) => !held && !isLiveDry && action !== 'notify');
    return {
      said: planned.map(nameOf).sort(),
      sent: sent.filter((name) => !doubts.includes(name)).sort(),
      retried: sent.filter((name) => doubts.includes(name)).sort(),
      writtenByDryRun: afterDry - before,
    };
  } finally {
    await stage.close();
  }
}

/** A wait for a second read passes time: what follows begins at the same moment all the same. */
async function onSameTime<T>({ on: { clock } }: Stage, work: () => Promise<T>): Promise<T> {
  const { now } = clock;
  const answer = await work();
  clock.now = now;
  return answer;
}

function nameOf({ action, target }: { action: string; target: string }): string {
  return `${action} ${target}`;
}

function nameOfCall(call: string): string {
  const [verb = '', ...target] = call.split(' ');
  return `${ACTION_OF[verb]} ${target.join(' ')}`;
}
