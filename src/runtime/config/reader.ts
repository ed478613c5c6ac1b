// Configuration: one reader of names and values. In: the environment, and flags if any. Out: checked values, or faults
// that each name the setting, its value and what was expected. It never repeats a secret, and finds all faults, not
// just the first.
import { parseDuration } from '../../base/time.ts';
import { LISTS, type Lists } from '../../domain/lists.ts';
import { shownAddress } from '../../domain/secrets.ts';
import { scheduleFault } from '../schedule/run-queue.ts';
import { baseAddress, type Environment, NameReader } from './name-reader.ts';

const WATCH_MS = { min: 1_000, max: 86_400_000 };

export class ConfigReader extends NameReader {
  baseUrl(flag: string | undefined): string | undefined {
    const text = flag?.trim() ?? this.text('TRUSTWARD_API_URL');
    if (text === undefined) return undefined;
    const name = flag === undefined ? 'TRUSTWARD_API_URL' : '--api-url';
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const shown = shownAddress(text);
    if (!url || !/^https?:$/.test(url.protocol))
      this.fault(name, `${name} is \`${shown}\`: expected an address such as https://console.example.com`);
    else if (url.username || url.password)
      this.fault(name, `${name} holds a user name or password: give the credential in TRUSTWARD_API_KEY`);
    else if (url.search || url.hash)
      this.fault(name, `${name} is \`${shown}\`: give the bare base address, without query or fragment`);
    else if (/\/api(\/v\d+)?\/?$/.test(url.pathname))
      this.fault(name, `${name} is \`${shown}\`: give the base address without \`${url.pathname}\`, it is added`);
    return baseAddress(text);
  }

  choice<const T extends string, F extends T | undefined>(name: string, choices: readonly T[], fallback: F): T | F {
    return this.oneOf(name, this.text(name), choices) ?? fallback;
  }

  flag<T extends string>(name: string, text: string | undefined, choices: readonly T[]): T | undefined {
    return this.oneOf(name, text, choices);
  }

  private oneOf<T extends string>(name: string, text: string | undefined, choices: readonly T[]): T | undefined {
    const found = choices.find((choice) => choice === text);
    if (text !== undefined && found === undefined)
      this.fault(name, `${name} is \`${text}\`: expected ${choices.join(', ')}`);
    return found;
  }

  /** Milliseconds, at least `least`. */
  duration(name: string, fallback: string, least: string): number {
    const text = this.text(name) ?? fallback;
    const ms = parseDuration(text);
    if (ms === undefined) this.fault(name, `${name} is \`${text}\`: expected a duration such as ${fallback}`);
    else if (ms < (parseDuration(least) ?? 0)) this.fault(name, `${name} is \`${text}\`: expected at least ${least}`);
    return ms ?? 0;
  }

  /** Milliseconds; 0: off. INVARIANT: bounded: a timer of more than 24 days would be over at once. */
  watch(flag: string | undefined, fallback: string): number {
    const name = flag === undefined ? 'TRUSTWARD_WATCH' : '--watch';
    const text = flag ?? this.text(name) ?? fallback;
    const ms = parseDuration(text);
    if (ms === undefined || (ms !== 0 && (ms < WATCH_MS.min || ms > WATCH_MS.max)))
      this.fault(name, `${name} is \`${text}\`: expected a duration from 1s to 1d such as 30s, or 0s to switch it off`);
    return ms ?? 0;
  }

  count(name: string, fallback: number, least: number): number {
    const text = this.text(name) ?? String(fallback);
    const value = Number(text);
    if (!/^\d{1,15}$/.test(text) || value < least)
      this.fault(name, `${name} is \`${text}\`: expected a whole number of at least ${least}`);
    return value;
  }

  /** From 1 to a most; a flag wins. */
  countUpTo(setting: string, flag: string, given: string | undefined, fallback: number, most: number): number {
    const name = given === undefined ? setting : flag;
    const text = given ?? this.text(name) ?? String(fallback);
    const value = Number(text);
    if (!/^\d{1,15}$/.test(text) || value < 1 || value > most)
      this.fault(name, `${name} is \`${text}\`: expected a whole number from 1 to ${most}`);
    return value;
  }

  percent(name: string, fallback: number): number {
    const text = this.text(name) ?? String(fallback);
    const value = Number(text);
    if (!/^\d+(\.\d+)?$/.test(text) || value > 100)
      this.fault(name, `${name} is \`${text}\`: expected 0 to 100, without \`%\``);
    return value;
  }

  /** `50,5%`: the larger of an absolute number and a share of the subjects. */
  ceiling(name: string, fallback: { max: number; percent: number }): { max: number; percent: number } {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const parts = /^(\d+)\s*,\s*(\d+(?:\.\d+)?)\s*%$/.exec(text);
    if (!parts)
      this.fault(
        name,
        `${name} is \`${text}\`: expected a number and a percentage such as ${fallback.max},${fallback.percent}%`,
      );
    return parts ? { max: Number(parts[1]), percent: Number(parts[2]) } : fallback;
  }

  listen(flag: string | undefined): Address {
    const { host, port } = LISTEN_DEFAULT;
    return this.address('TRUSTWARD_LISTEN', flag, `${host}:${port}`) ?? LISTEN_DEFAULT;
  }

  /** Undefined: none is given. */
  address(setting: string, flag: string | undefined, example: string): Address | undefined {
    const name = flag === undefined ? setting : '--listen';
    const text = flag ?? this.text(name);
    const address = text === undefined ? undefined : parseListen(text);
    if (text === undefined || address) return address;
    this.fault(name, `${name} is \`${text}\`: expected host:port such as ${example}`);
    return { host: '127.0.0.1', port: 0 };
  }

  metricsListen(): Address | undefined {
    return this.address('TRUSTWARD_METRICS_LISTEN', undefined, '127.0.0.1:9464');
  }

  schedule(flag: string | undefined, fallback: string): string {
    const name = flag === undefined ? 'TRUSTWARD_SCHEDULE' : '--schedule';
    const text = flag ?? this.text(name) ?? fallback;
    const fault = scheduleFault(text);
    if (fault) this.fault(name, `${name} is \`${text}\`: ${fault}; expected a cron expression such as */5 * * * *`);
    return text;
  }
}

export interface Address {
  host: string;
  port: number;
}

const LISTEN_DEFAULT: Address = { host: '127.0.0.1', port: 8080 };

/** `host:port`, `[::1]:8080`, or a bare port on loopback; undefined for anything else. */
export function parseListen(text: string): Address | undefined {
  const parts = /^(?:(\[[0-9a-fA-F:.]+\]|[^:[\]]+):)?(\d{1,5})$/.exec(text);
  const port = Number(parts?.[2]);
  if (!parts || port > 65_535) return undefined;
  return { host: (parts[1] ?? '127.0.0.1').replace(/^\[|\]$/g, ''), port };
}

export function readLists(names: ConfigReader): Lists {
  return names.choice('TRUSTWARD_API_LISTS', LISTS, 'v1');
}

/** For commands that read no other setting. Errors: AppError `config`. */
export function listsOf(env: Environment): Lists {
  const reader = new ConfigReader(env);
  const lists = readLists(reader);
  reader.finish();
  return lists;
}
