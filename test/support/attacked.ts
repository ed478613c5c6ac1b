// support: an endpoint of two organizations that can be attacked over its socket, whichever store it has. In: their ids. Out: its address, what each
// organization has and knows, and what a request made the endpoint do. This file has the one over SQLite stores, in this process.
import { type Listening, listen } from '../../src/faces/http/listen.ts';
import { type Credential, openOrganizations } from './organizations.ts';

export interface Attacked {
  url: string;
  of(id: string): {
    /** What only its own people may read. */
    secret: string;
    tokens: Record<Credential, string>;
  };
  /** All that there is of an organization, as a text that changes with it: rows, files, jobs that were asked for, what its platform did. */
  contents(id: string): Promise<string>;
  /** Resolves when nothing that was asked for is under way. */
  untilStill(): Promise<void>;
  /** What requests asked of the store since this was called last. A client can measure how much it is. */
  steps(): string[];
  close(): Promise<void>;
}

export async function attackedInMemory(ids: readonly string[]): Promise<Attacked> {
  let served: Listening | undefined;
  const on = await openOrganizations(ids, { address: () => served?.url ?? '' });
  const listening = await listen(on.app, { host: '127.0.0.1', port: 0 });
  served = listening;
  const opened = () => ids.map((id) => `opened ${id} ${on.of(id).opened}`);
  let before = opened();
  return {
    url: listening.url,
    of: (id) => on.of(id),
    contents: async (id) => on.of(id).bytes().toString('base64'),
    untilStill: async () => {},
    steps: () => {
      const now = opened();
      const changed = now.filter((line) => !before.includes(line));
      before = now;
      return [...on.asked.splice(0), ...changed];
    },
    close: async () => {
      await listening.close();
      await on.close();
    },
  };
}
