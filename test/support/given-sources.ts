// Sources of facts as `sources.yaml` writes them, read by the real reader from a temporary folder and a server on loopback. The clock stands still.
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { GivenReading, GivenSource } from '../../src/domain/given-facts.ts';
import { problemLine } from '../../src/rules/language/problem.ts';
import { readSources } from '../../src/rules/load/sources-file.ts';
import { publicAddressesOf } from '../../src/runtime/notify/settings.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { GivenReader, type SourceAccess } from '../../src/sources/given-reader.ts';
import { GivenTables } from '../../src/sources/given-tables.ts';

export const NOW = Date.parse('2026-11-28T12:00:00Z');

export function sourcesIn(yaml: string): GivenSource[] {
  const { sources, problems } = readSources([['sources.yaml', yaml]]);
  if (problems.length > 0) throw new Error(problems.map(problemLine).join('\n'));
  return sources;
}

export interface World {
  folder: string;
  nowMs: number;
  /** What happens while it sleeps, which takes no time otherwise. */
  onSleep?: () => void;
  logged: string[];
  reader: GivenReader;
  /** A file below the folder, written so long ago. */
  put(name: string, content: string | Uint8Array, agoMs?: number): void;
  /** Reads it if it is due. */
  read(source: GivenSource): Promise<GivenReading>;
  /** As another process, or the same one after a restart. */
  again(): World;
}

export function world(access: Partial<SourceAccess> = {}, at?: { data: string; kept: string }): World {
  const place = at ?? { data: folder(), kept: join(folder(), 'trustward.sources') };
  const tables = new GivenTables(place.kept);
  const logged: string[] = [];
  const log = (_: object, text: string) => void logged.push(text);
  const one: World = {
    folder: place.data,
    nowMs: NOW,
    logged,
    reader: new GivenReader({
      tables,
      access: {
        ...{
          folder: place.data,
          hosts: ['127.0.0.1'],
          privateHosts: ['127.0.0.1'],
          ca: undefined,
          variable: () => undefined,
        },
        addressesOf: publicAddressesOf,
        ...access,
      },
      clock: { ...systemClock, nowMs: () => one.nowMs, sleep: async () => one.onSleep?.() },
      log: { info: log, warn: log, error: log, debug: log },
    }),
    put: (name, content, agoMs = 60_000) => {
      writeFileSync(join(place.data, name), content);
      utimesSync(join(place.data, name), (one.nowMs - agoMs) / 1_000, (one.nowMs - agoMs) / 1_000);
    },
    read: async (source) => {
      await one.reader.readDue([source], new AbortController().signal);
      return (await tables.readings([source])).get(source.name) as GivenReading;
    },
    again: () => Object.assign(world(access, place), { nowMs: one.nowMs }),
  };
  return one;
}

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'given-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** Its address. */
export async function served(answer: RequestListener): Promise<string> {
  const server: Server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
