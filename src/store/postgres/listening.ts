// store: what other processes tell on a channel of PostgreSQL. In: a pool, a channel. Out: calls, until it is closed. A connection that breaks
// is made anew; then, and now and then, whoever listens is told that something may have been missed.
import type { QueryConfig } from 'pg';
import { lineOf } from '../../domain/errors.ts';
import type { Hearing, Listening } from '../../domain/listening.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import type { PostgresPool } from './pool.ts';

const RETRY_MS = 1_000;
const ANYWAY_MS = 15_000;
const ANSWERED_MS = 5_000;

interface Parts {
  pool: Pick<PostgresPool, 'connect'>;
  clock: Pick<Clock, 'sleep'>;
  log: Log;
}

/** See `Listen`. That it cannot listen is logged once. */
export function listening(parts: Parts, channel: string, hearing: Hearing): Listening {
  const closing = new AbortController();
  const ended = untilClosed(parts, channel, hearing, closing.signal);
  return {
    close: () => {
      closing.abort();
      return ended;
    },
  };
}

async function untilClosed(parts: Parts, channel: string, hearing: Hearing, signal: AbortSignal): Promise<void> {
  const { clock, log } = parts;
  let isReported = false;
  while (!signal.aborted) {
    try {
      await untilBroken(parts, channel, hearing, signal);
      isReported = false;
    } catch (error) {
      if (!isReported && !signal.aborted) log.warn({}, `what other processes do is noticed late: ${lineOf(error)}`);
      isReported = true;
    }
    await clock.sleep(RETRY_MS, signal).catch(() => {});
  }
}

async function untilBroken({ pool, clock }: Parts, channel: string, hearing: Hearing, signal: AbortSignal) {
  const broken = new AbortController();
  const client = await pool.connect(async (made) => {
    made.on('notification', ({ payload = '' }) => hearing.heard(payload));
    made.on('end', () => broken.abort());
    await made.query(`LISTEN "${channel}"`);
  });
  const over = AbortSignal.any([signal, broken.signal]);
  try {
    hearing.missed();
    while (!over.aborted) {
      await clock.sleep(ANYWAY_MS, over).catch(() => {});
      if (over.aborted) break;
      // A connection that a network lost without a word answers nothing.
      await client.query({ text: 'SELECT 1', query_timeout: ANSWERED_MS } as QueryConfig);
      hearing.missed();
    }
  } finally {
    await client.end().catch(() => {});
  }
}
