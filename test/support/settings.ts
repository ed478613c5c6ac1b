// support: the names of all settings, as reading the configuration asks the environment for them.

import { readConfig, readWorkerSettings } from '../../src/runtime/config/config.ts';
import type { Environment } from '../../src/runtime/config/name-reader.ts';

/** In the order of the alphabet. */
export function namesRead(): string[] {
  const names = new Set<string>();
  const given: Environment = {
    TRUSTWARD_API_URL: 'http://127.0.0.1',
    TRUSTWARD_API_KEY: 'key',
    TRUSTWARD_DB: 'postgres://127.0.0.1/trustward',
    TRUSTWARD_STATE: 'state',
  };
  const get = (name: string) => {
    names.add(name);
    return given[name];
  };
  const environment = new Proxy<Environment>({}, { get: (_, name) => get(String(name)) });
  readConfig(environment);
  readWorkerSettings(environment, {});
  return [...names].filter((name) => name.startsWith('TRUSTWARD_')).sort();
}

/** Those in a text, each once. */
export function settingsIn(text: string): string[] {
  return [...new Set([...text.matchAll(/\b(TRUSTWARD_[A-Z_]*[A-Z])\b/g)].map(([, name]) => name as string))];
}
