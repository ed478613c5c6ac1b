// harness: two receivers of what is told: okta is pushed to, jamf polls. Both lose, refuse, delay and repeat as dice say, until they are calm. In: where the
// daemon listens, and its database. Out: how what arrived and what they kept differs from the outcomes in the audit.
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { TransmitterKeys, verifySet } from '../../src/signals/set.ts';
import { CERTIFICATE, KEY } from '../support/receiver.ts';
import { type Ask, asking, COMPLIANCE, ISSUER, POLL, PUSH, REVOKED } from '../support/transmitting.ts';
import type { Dice } from './dice.ts';

type Name = 'okta' | 'jamf';

const OUTCOMES = `SELECT seq, i.id AS intent, action, basis AS rules FROM audit a JOIN intents i ON i.id = json_extract(bytes, '$.body.intent')
  WHERE a.kind = 'intent.settled' AND json_extract(bytes, '$.body.outcome') IN ('succeeded', 'confirmed')`;

export class Receivers {
  /** As each arrived first, by receiver, outcome, event and status; `isKept`: it will not be asked for again. */
  private readonly sets = new Map<string, { jti: string; text: string; isKept: boolean }>();
  private readonly lastSeq = { okta: 0, jamf: 0 };
  private readonly atArrival: Record<'early' | 'disordered' | 'renamed' | 'rewritten', string[]> = {
    ...{ early: [], disordered: [], renamed: [], rewritten: [] },
  };
  private arrivals = 0;
  private isCalm = false;
  private isOver = false;
  private polling = Promise.resolve();
  private readonly server = createServer({ key: KEY, cert: CERTIFICATE }, async (request, response) => {
    const how = this.isCalm
      ? 'taken'
      : this.dice.weighted({ taken: 14, unread: 1, lost: 1, refused: 2, unheard: 2, slow: 2 });
    if (how === 'unread') return response.destroy();
    const chunks: Buffer[] | undefined = await request.toArray().catch(() => undefined);
    if (!chunks) return; // the daemon was killed while it sent
    const set = this.arrive('okta', Buffer.concat(chunks).toString('utf8'));
    this.server.emit('told');
    if (how === 'lost') return response.destroy();
    if (how === 'refused') return response.writeHead(this.dice.pick([429, 500, 503])).end();
    set.isKept = true;
    if (how === 'unheard') return response.destroy();
    // Also for longer than the daemon waits.
    if (how === 'slow') await systemClock.sleep(this.dice.pick([300, 2_500]));
    response.writeHead(202).end();
  });

  /** `url`: of the daemon. */
  constructor(
    private readonly url: string,
    private readonly dbFile: string,
    private readonly dice: Dice,
  ) {}

  /** Both begin their streams. `token`: of an administrator. */
  async begin(token: string): Promise<void> {
    const begun = async (name: Name, delivery: object) => {
      const { body } = await asking(this.url, token)('POST', '/api/tokens', { name, scope: 'signals' });
      const ask = asking(this.url, body.token);
      return { ask, id: (await ask('POST', '/api/signals/streams', { delivery })).body.stream_id };
    };
    await begun('okta', { method: PUSH, endpoint_url: `https://localhost:${await portOf(this.server)}/events` });
    const { ask, id } = await begun('jamf', { method: POLL });
    this.polling = this.poll(ask, `/api/signals/poll/${id}`);
  }

  /** From now on nothing is lost or refused. */
  calm(): void {
    this.isCalm = true;
  }

  /** The next push was read, and is not answered yet. */
  pushed(): Promise<unknown> {
    return once(this.server, 'told');
  }

  async end(): Promise<void> {
    this.isOver = true;
    await this.polling;
  }

  private async poll(ask: Ask, path: string): Promise<void> {
    const { dice } = this;
    const kept: string[] = [];
    const acknowledged: string[] = [];
    while (!this.isOver) {
      const open = kept.filter((jti) => !acknowledged.includes(jti));
      // Late, or only some; and some of before once more.
      const some = dice.chance(0.3) ? [] : open.slice(0, dice.whole(1, 5));
      const ack = this.isCalm ? open : [...some, ...acknowledged.slice(dice.pick([-2, Number.POSITIVE_INFINITY]))];
      const asked = { ack, maxEvents: dice.whole(1, 8), returnImmediately: dice.chance(0.3) };
      const answer = await ask('POST', path, asked).catch(() => undefined);
      // The daemon was killed: what it heard of this is not known.
      if (answer?.status === 200) {
        acknowledged.push(...ack);
        const isLost = !this.isCalm && dice.chance(0.2);
        for (const text of Object.values<string>(answer.body.sets)) {
          const set = this.arrive('jamf', text);
          if (isLost || set.isKept) continue;
          set.isKept = true;
          kept.push(set.jti);
        }
      }
      await systemClock.sleep(dice.whole(50, 300));
    }
  }

  private arrive(to: Name, text: string) {
    const { jti, txn, events } = JSON.parse(Buffer.from(text.split('.')[1] ?? '', 'base64url').toString('utf8'));
    const [[type, body] = ['', {}]] = Object.entries<{ current_status?: string }>(events);
    const what = whatOf(to, txn, type, body.current_status);
    const seq = this.outcomes().find(({ intent }) => intent === txn)?.seq;
    const { early, disordered, renamed, rewritten } = this.atArrival;
    if (seq === undefined) early.push(what);
    this.arrivals += 1;
    const known = this.sets.get(what);
    if (known && known.jti !== jti) renamed.push(what);
    if (known && known.text !== text) rewritten.push(what);
    if (known) return known;
    if (seq !== undefined && seq < this.lastSeq[to]) disordered.push(what);
    this.lastSeq[to] = seq ?? this.lastSeq[to];
    const set = { jti, text, isKept: false };
    this.sets.set(what, set);
    return set;
  }

  /** What was done and undone, as another process reads it in the audit. */
  private outcomes() {
    return rowsOf<{ seq: number; intent: string; action: string; rules: string }>(this.dbFile, OUTCOMES);
  }

  private expected(): string[] {
    return this.outcomes().flatMap(({ intent, action, rules }) => {
      const isBan = action === 'ban_device';
      const status = isBan ? 'not-compliant' : 'compliant';
      const isRevoked = isBan && rules.includes('"ban-compromised-device"');
      return [
        whatOf('okta', intent, COMPLIANCE, status),
        whatOf('jamf', intent, COMPLIANCE, status),
        ...(isRevoked ? [whatOf('okta', intent, REVOKED)] : []),
      ];
    });
  }

  unkept(): string[] {
    return this.expected().filter((what) => !this.sets.get(what)?.isKept);
  }

  /** Empty lists where all is well. The daemon is asked for its keys. */
  async faults() {
    const [expected, told] = [this.expected(), [...this.sets.keys()]];
    const keys = new TransmitterKeys(
      async () => (await fetch(`${this.url}/.well-known/jwks.json`)).text(),
      systemClock,
    );
    const checks = { issuer: ISSUER, audience: ['https://okta.example/ssf', 'jamf'], keys, nowMs: systemClock.nowMs() };
    const forged: string[] = [];
    for (const [what, { text }] of this.sets) if ('refused' in (await verifySet(text, checks))) forged.push(what);
    const untold = expected.filter((what) => !told.includes(what));
    const neverDone = told.filter((what) => !expected.includes(what));
    return { ...this.atArrival, untold, neverDone, unkept: this.unkept(), forged };
  }

  line(): string {
    const outcomes = this.outcomes();
    const undone = outcomes.filter(({ action }) => action !== 'ban_device').length;
    const { size } = this.sets;
    return `${outcomes.length} outcomes (${undone} of them undone bans) told in ${size} SETs, which arrived ${this.arrivals} times`;
  }
}

function whatOf(to: Name, intent: string, type: string, status = ''): string {
  return `${to} ${intent} ${type.split('/').at(-1)} ${status}`;
}

export function rowsOf<T>(file: string, sql: string): T[] {
  const db = new Database(file, { readonly: true });
  try {
    return db.prepare(sql).all() as T[];
  } finally {
    db.close();
  }
}

/** On a port of loopback until the test is over; clients that are killed are no error. */
export async function portOf(server: Server): Promise<number> {
  server.on('clientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
