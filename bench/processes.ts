// bench: the other processes of a bench, and its fleet. In: a file of bench/, arguments, settings. Out: the process, and the words of the line
// that it prints when it is ready.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fiftyRules } from './cycle/rules.ts';

export async function started(file: string, args: string[], env = process.env): Promise<[ChildProcess, string[]]> {
  const path = new URL(file, import.meta.url).pathname;
  const child = spawn(process.execPath, ['--import', 'tsx', path, ...args], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env,
  });
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const [line] = (await once(lines, 'line')) as [string];
  return [child, line.split(' ').slice(1)];
}

/** `cycle/server.ts` with its pages made: it keeps each that it was asked for. */
export async function warmFleet(devices: number): Promise<{ fleet: ChildProcess; api: string; key: string }> {
  const [fleet, [api = '', key = '']] = await started('./cycle/server.ts', [String(devices)]);
  for (let skip = 0; skip < devices; skip += 999)
    await fetch(`${api}/api/v1/devices?Skip=${skip}&Limit=1000&Order=asc&OrderBy=serialnumber`, {
      headers: { authorization: `Bearer ${key}` },
    }).then((answer) => answer.arrayBuffer());
  return { fleet, api, key };
}

/** A folder of fifty rules, which read nothing that only the unpaged list has. */
export function rulesIn(folder: string): string {
  const rules = join(folder, 'rules');
  mkdirSync(rules);
  fiftyRules('paged').forEach((text, index) => {
    writeFileSync(join(rules, `${index}.json`), text);
  });
  return rules;
}
