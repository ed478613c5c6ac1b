// system: the version of this program. In: its package.json. Out: `1.2.3`.
import { readFileSync } from 'node:fs';

export function versionOf(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
