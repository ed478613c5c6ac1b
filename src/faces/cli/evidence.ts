// cli: `evidence` writes one file about a plan, an intent or a subject, and verifies what it wrote; `verify-evidence` verifies such a file, offline,
// by the file that an auditor can read (src/verify-evidence.ts). In: a name, or a file. Out: a file, what was found in it, and 0 only for a yes.

import { existsSync, readFileSync } from 'node:fs';
import { AppError } from '../../domain/errors.ts';
import { aboutWords } from '../../domain/evidence.ts';
import { type Verified, verdictOf, verifyEvidence } from '../../verify-evidence.ts';
import { plural, showHidden } from '../report/fact-text.ts';
import { paragraph } from '../report/terminal-table.ts';
import { type CommonOptions, type Io, widthOf, write, writeText } from './io.ts';
import { operations } from './operations.ts';

export async function evidenceCommand(io: Io, of: string, options: CommonOptions & { out: string }): Promise<number> {
  const { out } = options;
  const format = /\.(json|html)$/.exec(out)?.[1];
  if (format !== 'json' && format !== 'html')
    throw new AppError('usage', `--out is \`${out}\`: name a file that ends with \`.json\`, or \`.html\` for people`);
  const { file, entries, about, left } = await operations(io, options).getEvidencePack({ of, format });
  write(io, { out, format: 'json' }, file);
  const what = `${out}: evidence of ${aboutWords(about)} (${about.text}), ${plural(entries, 'entry', 'entries')} of the audit`;
  const verified = verifyEvidence(Buffer.from(file));
  writeText(io, [...lines([what, ...left], options), ...linesOf(verified, options)].join('\n').concat('\n'));
  return verified.ok ? 0 : 1;
}

export async function verifyEvidenceCommand(io: Io, file: string, options: CommonOptions & { key?: string }) {
  const { key } = options;
  for (const name of [file, ...(key === undefined ? [] : [key])])
    if (!existsSync(name)) throw new AppError('not_found', `there is no file \`${name}\``);
  const verified = verifyEvidence(readFileSync(file), key === undefined ? undefined : readFileSync(key, 'utf8'));
  writeText(io, linesOf(verified, options).join('\n').concat('\n'));
  return verified.ok ? 0 : 1;
}

function linesOf(verified: Verified, options: CommonOptions): string[] {
  const found = [...verified.problems, ...verified.found].map((one) => `- ${one}`);
  return [verdictOf(verified), ...lines(found, options)];
}

function lines(texts: readonly string[], options: CommonOptions): string[] {
  return texts.map((text) => paragraph(showHidden(text), widthOf(options)));
}
