// cli: `explain RULE SUBJECT`: the tree, the facts, the flip, and the decision. Through the daemon when one is
// active.

import { schemas } from '../../contract/answers.ts';
import { encodedJson } from '../../contract/operation.ts';
import { SUBJECT_KINDS } from '../../domain/subjects.ts';
import { explainSubject } from '../../engine/explain/judge-subject.ts';
import { composeWhatIf } from '../../runtime/compose/compose.ts';
import type { Config } from '../../runtime/config/config.ts';
import { configOf, demoMark, remoteOf } from './config-of.ts';
import { findDaemon, namingApi } from './daemon-client.ts';
import { type CommonOptions, type Io, outputOf, widthOf, write } from './io.ts';
import { operations, otherThanActive } from './operations.ts';
import { chosenName } from './operator.ts';
import { type Explained, explainedText, whyText } from './why-text.ts';

export async function explainCommand(io: Io, rule: string, subject: string, options: CommonOptions): Promise<number> {
  const format = outputOf(options, ['text', 'json'] as const, 'text');
  const config = (await remoteOf(io, options)) ? undefined : await configOf(io, options);
  const other = config && (await otherThanActive(io, config, options, await findDaemon(config, options)));
  const explained: Explained = other
    ? await explainedBy(config, rule, subject)
    : await operations(io, options).explainRule({ id: rule, subject });
  const mark = await demoMark(io, options);
  const text = () => mark + explainedText(explained, widthOf(options));
  const json = () => {
    const { whatIf, ...answer } = explained;
    return JSON.stringify({ ...encodedJson(schemas.explained, answer), whatIf }, null, 2);
  };
  write(io, options, format === 'json' ? json() : text());
  return 0;
}

/** By other rules than the active ones. Only reads, beside any writer. Errors: as composeWhatIf and explainSubject. */
async function explainedBy(config: Config, rule: string, subject: string): Promise<Explained> {
  const { engine, explaining, close } = await composeWhatIf(config);
  try {
    const about = { ...explaining(), isWhatIf: true };
    return { ...(await namingApi(config, () => explainSubject(about, rule, subject))), whatIf: engine.rulesDir };
  } finally {
    await close();
  }
}

// `why WHAT`: all that is known of one device, user or service, on one screen.

interface WhyOptions extends CommonOptions {
  at?: string;
}

export async function whyCommand(io: Io, name: string, options: WhyOptions): Promise<number> {
  const format = outputOf(options, ['text', 'json'] as const, 'text');
  if (options.at !== undefined) {
    const { whyAtCommand } = await import('./as-of.ts');
    return whyAtCommand(io, name, options.at, options);
  }
  const what = await chosenName(io, options, name, SUBJECT_KINDS, { confirms: false });
  const why = await operations(io, options).why({ of: what });
  const mark = await demoMark(io, options);
  const text = () => mark + whyText(why, widthOf(options));
  write(io, options, format === 'json' ? JSON.stringify(encodedJson(schemas.why, why), null, 2) : text());
  return 0;
}
