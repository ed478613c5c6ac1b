// commands: `why WHAT`: all that is known of one device, user or service, on one screen. Through the daemon when one is active.
import { composeWhatIf } from '../compose/what-if.ts';
import type { Config } from '../config/config.ts';
import { leastMode } from '../domain/mode.ts';
import { SUBJECT_KINDS } from '../domain/subjects.ts';
import type { WhyAnswer } from '../domain/why.ts';
import { whyOf } from '../explain/why.ts';
import { whyJson, whyOfJson } from '../report/answers.ts';
import { namingApi } from './api-fault.ts';
import { chosenName } from './chosen-name.ts';
import { configOf } from './config-of.ts';
import { findDaemon } from './daemon-client.ts';
import { type CommonOptions, type Io, outputOf, widthOf, write } from './io.ts';
import { whyText } from './why-text.ts';

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
