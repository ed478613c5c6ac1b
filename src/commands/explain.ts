// commands: `explain RULE SUBJECT`: the tree, the facts, the flip, and the decision. Through the daemon when one is
// active.
import { composeWhatIf } from '../compose/what-if.ts';
import type { Config } from '../config/config.ts';
import { leastMode } from '../domain/mode.ts';
import { explainSubject } from '../explain/explain-subject.ts';
import { explainedJson, explainedOfJson } from '../report/answers.ts';
import { namingApi } from './api-fault.ts';
import { configOf } from './config-of.ts';
import { findDaemon } from './daemon-client.ts';
import { type Explained, explainedText } from './explained-text.ts';
import { type CommonOptions, type Io, outputOf, widthOf, write } from './io.ts';
import { otherThanActive } from './other-rules.ts';

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
