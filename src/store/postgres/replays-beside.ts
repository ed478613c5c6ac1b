// store: the replay that a page asked for, of one organization: under way at one endpoint, and shown by all of them. In: a replay. Out: the port of
// domain/replay-beside.ts. It has the row of `asks` with a name that no job has, so it is kept as long as they are.
import { REPLAY_WITHIN_MS, type ReplayBeside, type ReplayKeeper } from '../../domain/replay-beside.ts';
import { bytesOf, keptOf } from './asks.ts';
import { beginWriting } from './organization.ts';
import type { Client, PostgresPool } from './pool.ts';

const ID = 'replay-beside';
/** The endpoint that made it would have broken it off by then. */
const IS_OLD = `asks.asked_at < clock_timestamp() - interval '${REPLAY_WITHIN_MS + 60_000} milliseconds'`;
/** INVARIANT: one statement: of two endpoints that begin at a time, one does. */
const BEGIN = `INSERT INTO asks (id, operation, said) VALUES ('${ID}', 'replay', $1) ON CONFLICT (org, id)
  DO UPDATE SET said = excluded.said, answer = NULL, asked_at = clock_timestamp() WHERE asks.answer IS NOT NULL OR ${IS_OLD}`;
const GOES_ON = `UPDATE asks SET said = $2 WHERE id = '${ID}' AND said = $1 AND answer IS NULL`;
const END = `UPDATE asks SET answer = $2 WHERE id = '${ID}' AND said = $1 AND answer IS NULL`;
const LAST = `SELECT said, answer, answer IS NULL AND ${IS_OLD} AS is_lost FROM asks WHERE id = '${ID}'`;

interface ReplayRow {
  said: Buffer;
  answer: Buffer | null;
  is_lost: boolean;
}

export class PostgresReplays implements ReplayKeeper {
  constructor(
    private readonly pool: Pick<PostgresPool, 'transaction'>,
    private readonly organization: string,
  ) {}

  async begin(replay: ReplayBeside): Promise<boolean> {
    const { rowCount } = await this.within((client) => client.query(BEGIN, [kept(replay)]));
    return rowCount === 1;
  }

  async goesOn(before: ReplayBeside, now: ReplayBeside): Promise<void> {
    await this.within((client) => client.query(GOES_ON, [kept(before), kept(now)]));
  }

  async end(begun: ReplayBeside, ended: ReplayBeside): Promise<void> {
    await this.within((client) => client.query(END, [kept(begun), kept(ended)]));
  }

  async last(): Promise<ReplayBeside | undefined> {
    const [row] = (await this.within((client) => client.query<ReplayRow>(LAST))).rows;
    if (!row) return undefined;
    const replay = keptOf(row.answer ?? row.said).value as ReplayBeside;
    return row.is_lost
      ? { ...replay, finishedAt: replay.startedAt, fault: 'the endpoint that made it has ended: ask for it again' }
      : replay;
  }

  private within<T>(work: (client: Client) => Promise<T>): Promise<T> {
    return this.pool.transaction(beginWriting(this.organization), work);
  }
}

/** The same bytes for the same replay: it is known by them. */
function kept(replay: ReplayBeside): Buffer {
  return bytesOf({ form: 'named', value: replay });
}
