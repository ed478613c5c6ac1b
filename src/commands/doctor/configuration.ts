// commands: `doctor`: the configuration: what is set, what is set without effect, and what is set unwisely.
import { statSync } from 'node:fs';
import type { Config, Environment } from '../../config/config.ts';
import { formatDuration } from '../../domain/duration.ts';
import { shellWord } from '../../domain/shell-word.ts';
import { didYouMean } from '../../evaluate/index.ts';
import { CHANGE_WINDOW, changeWindowText, quietHoursText } from '../../report/index.ts';
import { systemClock } from '../../system/clock.ts';
import { type Check, ok, warning } from './check.ts';

const NAME = 'configuration';
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/;

/** An environment that remembers which names were read: those are the known names. */
export function rememberingNames(env: Environment): { env: Environment; asked: ReadonlySet<string> } {
  const asked = new Set<string>();
  const get = (all: Environment, name: string | symbol) => {
    asked.add(String(name));
    return all[String(name)];
  };
  return { env: new Proxy(env, { get }), asked };
}

/** @param asked the names that reading the configuration used. */
export function configurationChecks(config: Config, env: Environment, asked: ReadonlySet<string>): Check[] {
  const { api, schedule, watchMs } = config;
  const where = api ? `Management API at ${api.url}` : 'embedded console (a made-up organization)';
  return [
    ok(NAME, `${where}, schedule \`${schedule}\`, watch ${watchMs === 0 ? 'off' : `every ${formatDuration(watchMs)}`}`),
    ...windowChecks(config),
    ...unknownNames(env, asked),
    ...openFiles(env, asked),
    ...unwise(config),
  ];
}

function windowChecks({ windows: { freeze, quietHours } }: Config): Check[] {
  const text = changeWindowText(freeze, systemClock.nowMs());
  return [
    ...(text === undefined ? [] : [ok(CHANGE_WINDOW, text)]),
    ...(quietHours.length === 0 ? [] : [ok('quiet hours', quietHoursText(quietHours, systemClock.nowMs()))]),
  ];
}

function unknownNames(env: Environment, asked: ReadonlySet<string>): Check[] {
  const known = [...asked].filter((name) => name.startsWith('TRUSTWARD_'));
  return Object.keys(env)
    .filter((name) => name.startsWith('TRUSTWARD_') && !asked.has(name))
    .map((name) =>
      warning(NAME, `${name} is set, and nothing reads it${didYouMean(name, known)}`, 'correct its name, or unset it'),
    );
}

function openFiles(env: Environment, asked: ReadonlySet<string>): Check[] {
  return [...asked].flatMap((name) => {
    const file = /^TRUSTWARD_.*_FILE$/.test(name) ? env[name]?.trim() : undefined;
    const mode = file ? (statSync(file, { throwIfNoEntry: false })?.mode ?? 0) : 0;
    if ((mode & 0o004) === 0) return [];
    return [
      warning(
        NAME,
        `${name}: \`${file}\` can be read by every user of this machine`,
        `chmod 600 ${shellWord(file as string)}`,
      ),
    ];
  });
}

function unwise({ api, listen, timing }: Config): Check[] {
  const checks: Check[] = [];
  const url = api && new URL(api.url);
  if (url?.protocol === 'http:' && !LOOPBACK.test(url.hostname))
    checks.push(
      warning(NAME, `${api?.url} is not https: the credential travels in the clear`, 'give an https address'),
    );
  if (timing.quietMs < timing.requestTimeoutMs) {
    const [quiet, request] = [formatDuration(timing.quietMs), formatDuration(timing.requestTimeoutMs)];
    const text = `the quiet period (${quiet}) is shorter than the request timeout (${request}): a late effect is read too early`;
    checks.push(warning(NAME, text, 'unset TRUSTWARD_QUIET_PERIOD'));
  }
  if (!LOOPBACK.test(listen.host)) {
    const text = `the HTTP endpoint listens on ${listen.host}, beyond this machine, without TLS of its own`;
    checks.push(warning(NAME, text, 'put a proxy with TLS before it, or listen on 127.0.0.1'));
  }
  return checks;
}
