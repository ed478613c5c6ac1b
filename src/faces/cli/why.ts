// cli: `explain RULE SUBJECT`: the tree, the facts, the flip, and the decision. Through the daemon when one is
// active.

import { leastMode } from '../../domain/rule.ts';
import { SUBJECT_KINDS } from '../../domain/subjects.ts';
import type { WhyAnswer } from '../../domain/why.ts';
import { explainSubject } from '../../engine/explain/judge-subject.ts';
import { whyOf } from '../../engine/explain/why.ts';
import { composeWhatIf } from '../../runtime/compose/compose.ts';
import type { Config } from '../../runtime/config/config.ts';
import { explainedJson, explainedOfJson, whyJson, whyOfJson } from '../report/answers.ts';
import { configOf } from './config-of.ts';
import { findDaemon, namingApi } from './daemon-client.ts';
import { type CommonOptions, type Io, outputOf, widthOf, write } from './io.ts';
import { chosenName } from './operator.ts';
import { otherThanActive } from './run.ts';
import { type Explained, explainedText, whyText } from './why-text.ts';

export async function explainCommand(io: Io, rule: string, subject: string, options: CommonOptions): Promise<number> {
  const format = outputOf(options, ['text', 'json'] as const, 'text');
  const config = await configOf(io, options);
  const daemon = await findDaemon(config);
  const other = await otherThanActive(io, config, options, daemon);
  const path = `/api/rules/${encodeURIComponent(rule)}/explain`;
  const explained: Explained =
    daemon && !other
      ? explainedOfJson(await daemon.call('POST', path, { subject }))
      : await explainHere(config, rule, subject, other !== undefined);
  const text = () => explainedText(explained, widthOf(options));
  const json = () => {
    const { whatIf, ...answer } = explained;
    return JSON.stringify({ ...explainedJson(answer), whatIf }, null, 2);
  };
  write(io, options, format === 'json' ? json() : text());
  return 0;
}

/** Only reads, beside any writer. Errors: as composeWhatIf and explainSubject. */
async function explainHere(config: Config, rule: string, subject: string, isWhatIf: boolean): Promise<Explained> {
  const { engine, explaining, close } = await composeWhatIf(config);
  const explain = async (): Promise<Explained> => {
    const daemonMode = isWhatIf ? engine.daemonMode : leastMode(config.mode, engine.daemonMode);
    const explained = await explainSubject({ ...explaining(), isWhatIf, daemonMode }, rule, subject);
    return isWhatIf ? { ...explained, whatIf: engine.rulesDir } : explained;
  };
  try {
    return await namingApi(config, explain);
  } finally {
    await close();
  }
}

// `why WHAT`: all that is known of one device, user or service, on one screen.

export interface WhyOptions extends CommonOptions {
  at?: string;
}

export async function whyCommand(io: Io, name: string, options: WhyOptions): Promise<number> {
  const format = outputOf(options, ['text', 'json'] as const, 'text');
  if (options.at !== undefined) {
    const { whyAtCommand } = await import('./as-of.ts');
    return whyAtCommand(io, name, options.at, options);
  }
  const config = await configOf(io, options);
  const what = await chosenName(io, options, name, SUBJECT_KINDS, { confirms: false });
  const daemon = await findDaemon(config);
  const why = daemon
    ? whyOfJson(await daemon.call('GET', `/api/why?of=${encodeURIComponent(what)}`))
    : await whyHere(config, what);
  const text = () => whyText(why, widthOf(options));
  write(io, options, format === 'json' ? JSON.stringify(whyJson(why), null, 2) : text());
  return 0;
}

/** Only reads, beside any writer. Errors: as composeWhatIf and whyOf. */
async function whyHere(config: Config, what: string): Promise<WhyAnswer> {
  const { engine, explaining, close } = await composeWhatIf(config);
  const daemonMode = leastMode(config.mode, engine.daemonMode);
  try {
    return await namingApi(config, () => whyOf({ ...explaining(), isWhatIf: false, daemonMode }, what));
  } finally {
    await close();
  }
}
