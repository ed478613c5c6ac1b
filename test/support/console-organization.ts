// support: an organization without an engine: a console on loopback, a clock that tests move, and a short way to call it.
// In: options. Out: a running console. It must be closed by the test that opened it.

import { type Console, type ConsoleOptions, startConsole } from '../../src/console/console.ts';
import type { Clock, Log } from '../../src/domain/ports.ts';

export const START_MS = Date.UTC(2026, 0, 15, 9, 0, 0);

export interface TestClock extends Clock {
  /** Moves time on, wakes who sleeps, and lets them act. */
  advance(ms: number): Promise<void>;
}

export function testClock(startMs = START_MS): TestClock {
  let now = startMs;
  let sleepers: { atMs: number; wake: () => void }[] = [];
  return {
    nowMs: () => now,
    monotonicMs: () => now - startMs,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        const stop = (): void => resolve();
        const wake = (): void => {
          signal?.removeEventListener('abort', stop);
          resolve();
        };
        sleepers.push({ atMs: now + ms, wake });
        signal?.addEventListener('abort', stop, { once: true });
      }),
    async advance(ms) {
      now += ms;
      const due = sleepers.filter((each) => each.atMs <= now);
      sleepers = sleepers.filter((each) => each.atMs > now);
      for (const each of due) each.wake();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

export interface LoggedLine {
  fields: object;
  message: string;
}

/** Errors that a console logs are kept, so that a test can say there were none. */
export function testLog(): Log & { errors: LoggedLine[] } {
  const errors: LoggedLine[] = [];
  const nothing = (): void => undefined;
  return {
    errors,
    debug: nothing,
    info: nothing,
    warn: nothing,
    error: (fields, message) => errors.push({ fields, message }),
  };
}

export interface Answered {
  status: number;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read whatever came
  json: any;
  headers: Headers;
}

export interface Organization {
  console: Console;
  clock: TestClock;
  errors: LoggedLine[];
  apiKey: string;
  adminToken: string;
  refreshToken: string;
  /** Calls within the process, as the first API key unless told otherwise (`null`: without a credential). */
  call(method: string, address: string, body?: unknown, authorization?: string | null): Promise<Answered>;
}

export async function openOrganization(options: Partial<ConsoleOptions> = {}): Promise<Organization> {
  const clock = testClock();
  const log = testLog();
  const console = await startConsole({ dbFile: ':memory:', clock, log, ...options });
  const { apiKey, adminToken, refreshToken } = console.credentials ?? { apiKey: '', adminToken: '', refreshToken: '' };
  return {
    console,
    clock,
    errors: log.errors,
    apiKey,
    adminToken,
    refreshToken,
    async call(method, address, body, authorization = `Bearer ${apiKey}`) {
      const text = typeof body === 'string' ? body : body === undefined ? undefined : JSON.stringify(body);
      const response = await console.app.request(address, {
        method,
        ...(text === undefined ? {} : { body: text }),
        ...(authorization === null ? {} : { headers: { Authorization: authorization } }),
      });
      return readAnswer(response);
    },
  };
}

export async function readAnswer(response: Response): Promise<Answered> {
  const text = await response.text();
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  return { status: response.status, text, json, headers: response.headers };
}
