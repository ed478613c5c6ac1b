// bench: the least that taking events in costs, in a process of its own: the same pages read with undici, parsed by JSON.parse and inserted
// into SQLite alone. Arguments: the log's address, a file. Message `{from}`: which event to begin with. Answers what reading to the end took.
import Database from 'better-sqlite3';
import { Agent, request } from 'undici';
import { FIRST_MS, SPACING_MS, timed } from './setting.ts';

const BATCH = 10_000;
const [address, file] = process.argv.slice(2);

const agent = new Agent({ connections: 1 });
const plain = new Database(file);
plain.pragma('journal_mode = WAL');
plain.pragma('synchronous = FULL');
plain.exec(`CREATE TABLE events (id TEXT PRIMARY KEY, created_at INTEGER NOT NULL, serial_number TEXT, email TEXT, body TEXT NOT NULL) STRICT,
  WITHOUT ROWID; CREATE INDEX by_time ON events (created_at)`);
const inserting = plain.prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING');

interface PlainEvent {
  id: string;
  created_at: number;
  user_principal: { device: { serial_number: string }; user: { email: string } };
}

/** The same pages: each begins with the last event of the one before. */
async function floor(from: number): Promise<void> {
  let batch: PlainEvent[] = [];
  const insertAll = plain.transaction((events: PlainEvent[]) => {
    for (const event of events) {
      const { device, user } = event.user_principal;
      inserting.run(event.id, event.created_at, device.serial_number, user.email, JSON.stringify(event));
    }
  });
  let after = FIRST_MS + from * SPACING_MS;
  for (;;) {
    const { body } = await request(`${address}/api/v1/events?order=ASC&after=${after}&limit=1000`, {
      dispatcher: agent,
    });
    const { data } = JSON.parse(await body.text()) as { data: PlainEvent[] };
    batch.push(...data);
    if (batch.length >= BATCH || data.length < 1_000) {
      insertAll(batch);
      batch = [];
    }
    if (data.length < 1_000) return;
    after = data.at(-1)?.created_at ?? after;
  }
}

process.on('message', async ({ from }: { from: number }) => {
  process.send?.(await timed(() => floor(from)));
});
process.on('disconnect', async () => {
  plain.close();
  await agent.close();
  process.exit(0);
});
