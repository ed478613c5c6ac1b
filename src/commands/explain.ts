// commands: `explain RULE SUBJECT`: the tree, the facts, the flip, and what decide says. Through the daemon when one is active.
import { composeEngine } from '../compose.ts';
import { composeWhatIf } from '../compose-what-if.ts';
import type { Config } from '../config.ts';
import { type ExplainedSubject, explainSubject } from '../cycle/explain-subject.ts';
import { plainJson } from '../domain/canonical.ts';
import { namingApi } from './api-fault.ts';
import { findDaemon } from './daemon-client.ts';
import { type Explained, explainedText } from './explained-text.ts';
import { type CommonOptions, configOf, type Io, outputOf, write } from './io.ts';
import { otherThanActive } from './other-rules.ts';

export async function explainCommand(io: Io, rule: string, subject: string, options: CommonOptions): Promise<number> {
  const format = outputOf(options, ['text', 'json'] as const, 'text');
  const config = configOf(io, options);
  const daemon = await findDaemon(config);
  const other = await otherThanActive(io, config, options, daemon);
  const path = `/api/rules/${encodeURIComponent(rule)}/explain`;
  const explained = other
    ? await explainOver(config, rule, subject)
    : daemon
      ? (JSON.parse(await daemon.call('POST', path, { subject })) as ExplainedSubject)
      : await explainHere(config, rule, subject);
  write(io, options, format === 'json' ? JSON.stringify(plainJson(explained), null, 2) : explainedText(explained));
  return 0;
}

/** Errors: as composeWhatIf and explainSubject. */
async function explainOver(config: Config, rule: string, subject: string): Promise<Explained> {
  const { engine, explaining, close } = await composeWhatIf(config);
  try {
    return { ...(await namingApi(config, () => explainSubject(explaining(), rule, subject))), whatIf: engine.rulesDir };
  } finally {
    await close();
  }
}

async function explainHere(config: Config, rule: string, subject: string): Promise<ExplainedSubject> {
  const { explaining, close } = await composeEngine(config, config.mode);
  try {
    return await namingApi(config, () => explainSubject(explaining(), rule, subject));
  } finally {
    await close();
  }
}
