// commands: `facts [SUBJECT]`: all facts that rules can read, from the schemas that check the rules, and how often each is
// missing in some records that are read now. In: a kind of subject, or `event`; all by default. Nothing is stored, and
// no database is needed.

import { listsOf } from '../config/lists.ts';
import { plainJson } from '../domain/canonical.ts';
import { AppError } from '../domain/errors.ts';
import type { Lists } from '../domain/lists.ts';
import { didYouMean, FACT_KINDS, type FactKind, factRows } from '../evaluate/index.ts';
import { configOf, withSettings } from './config-of.ts';
import { type Sample, sampleOf } from './facts-sample.ts';
import { factsMarkdown, factsText, type KindFacts } from './facts-text.ts';
import { type CommonOptions, type Io, outputOf, widthOf, write } from './io.ts';

export interface FactsOptions extends CommonOptions {
  /** False with `--no-sample`. */
  sample?: boolean;
  /** Of one subject, at an earlier time. */
  at?: string;
}

export async function factsCommand(io: Io, subject: string | undefined, options: FactsOptions): Promise<number> {
  if (options.at !== undefined) {
    const { factsAtCommand } = await import('./as-of.ts');
    return factsAtCommand(io, subject, options.at, options);
  }
  const format = outputOf(options, ['text', 'json', 'md'] as const, 'text');
  const kinds = subject === undefined ? FACT_KINDS : [kindOf(subject)];
  const samples = options.sample === false ? undefined : await sampleOf(await configOf(io, options), kinds);
  const lists = listsOf((await withSettings(io, options)).env);
  const facts = kinds.map((kind) => factsOfKind(kind, samples?.get(kind), lists));
  const texts = {
    text: () => factsText(facts, widthOf(options)),
    md: () => factsMarkdown(facts),
    json: () => JSON.stringify(plainJson(facts.map(viewOf)), null, 2),
  };
  write(io, options, texts[format]());
  return 0;
}

function kindOf(subject: string): FactKind {
  const kind = FACT_KINDS.find((each) => each === subject);
  if (kind) return kind;
  const hint = didYouMean(subject, FACT_KINDS);
  throw new AppError('usage', `\`${subject}\` has no facts: expected ${FACT_KINDS.join(', ')}${hint}`);
}

/** `sample`: undefined when none was to be read. */
export function factsOfKind(kind: FactKind, sample?: Sample, lists: Lists = 'v1'): KindFacts {
  const records = sample && 'records' in sample ? sample.records : undefined;
  const noSample = sample && 'none' in sample ? sample.none : undefined;
  return { kind, sampled: records?.length, noSample, lists, facts: factRows(kind, records) };
}

function viewOf({ kind, sampled, noSample, facts }: KindFacts) {
  const shown = facts.map(({ unit, example, missing, ...row }) => ({
    ...row,
    unit: unit ?? null,
    example: example ?? null,
    missing: missing ?? null,
  }));
  return { kind, sampled: sampled ?? null, noSample: noSample ?? null, facts: shown };
}
