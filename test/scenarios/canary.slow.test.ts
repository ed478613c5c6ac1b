// scenario: a secret, wherever it is kept, comes out nowhere: one life of a daemon with another secret in each place, and a search of everything
// that anybody could read of it. The second half plants leaks, and the search finds each.
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateRawSync, gzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { Canaries, canaryOf } from '../support/canaries.ts';
import { trustward } from '../support/trustward.ts';
import { type Life, liveThrough, SIGNING_KEY } from './canary-life.ts';
import { asking, crawl, gather, noteDeliveries, noting, type Places } from './canary-reading.ts';
import { type CanaryWorld, startCanaryWorld } from './canary-world.ts';

describe('a life in which every secret could have come out', () => {
  let world: CanaryWorld;
  let life: Life;

  beforeAll(async () => {
    world = await startCanaryWorld();
    life = await liveThrough(world);
  }, 400_000);
  afterAll(() => world?.close());

  it('was a full one', () => {
    const { echoes, pages, deliveries, issued, runs, refused } = life.counts;
    expect(echoes).toBeGreaterThan(0);
    expect(pages).toBeGreaterThan(30);
    expect(deliveries).toBeGreaterThan(8);
    expect(issued).toBeGreaterThan(1);
    expect(runs).toBeGreaterThan(7);
    expect(refused).toEqual([]);
    for (const place of ['the log of the daemon', 'the stream', 'the listener of metrics', 'GET /readyz'])
      expect(life.places.get(place)?.length, place).toBeGreaterThan(100);
    const answers = life.places.get('the column attempts.answer afterwards');
    expect(answers).toContain('you sent [secret]');
    expect([...life.places.keys()].filter((place) => /wal while|backups.*afterwards/.test(place))).toHaveLength(2);
    expect(
      [...life.places].some(([place, text]) => /history.*parquet/.test(place) && text.includes('SerialNumber')),
    ).toBe(true);
  });

  it('has none of them in any place, but for the key of the audit in its own file', { timeout: 300_000 }, () => {
    const found = [...life.places].flatMap(([place, text]) =>
      world.canaries.in(text, place.includes('.audit-key ') ? [SIGNING_KEY] : []).map((name) => `${name}: ${place}`),
    );
    expect(found).toEqual([]);
  });

  it('keeps that key from others', () => {
    expect(statSync(`${world.env.TRUSTWARD_DB}.audit-key`).mode & 0o077).toBe(0);
  });
});

const SECRET = canaryOf('planted', '/.+=');
const MARK = canaryOf('marked', '"\\/+=&<');
const base64 = (text: string) => Buffer.from(text).toString('base64');

function planted(): { canaries: Canaries; places: Places; note: ReturnType<typeof noting>; found(): string[] } {
  const canaries = new Canaries();
  canaries.add('planted', SECRET);
  canaries.add('marked', MARK);
  const places: Places = new Map();
  const found = () => [...places].filter(([, text]) => canaries.in(text).length > 0).map(([place]) => place);
  return { canaries, places, note: noting(places), found };
}

describe('a planted leak is found', () => {
  it.each<[string, string]>([
    ['as it is', `{"msg":"sent ${SECRET}"}`],
    ['in a query', `/x?key=${encodeURIComponent(MARK)}&y=1`],
    ['in JSON', JSON.stringify({ a: MARK })],
    ['in JSON within JSON', JSON.stringify({ a: JSON.stringify({ b: MARK }) })],
    ['in HTML', MARK.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')],
    ['in base64', base64(MARK)],
    ['in base64 with a name before it', base64(`u:${MARK}`)],
    ['in base64url', Buffer.from(`us:${MARK}`).toString('base64url')],
    ['in hexadecimal', Buffer.from(SECRET).toString('hex')],
    ['split over two fields', JSON.stringify({ first: SECRET.slice(0, 19), second: SECRET.slice(19) })],
    ['cut off', `${SECRET.slice(0, 16)}…`],
    ['half hidden', `****${SECRET.slice(20)}`],
  ])('%s', (_, text) => {
    const { note, found } = planted();
    note('a line', text);
    expect(found()).toEqual(['a line']);
  });

  it.each<[string, (db: Database.Database) => unknown, RegExp]>([
    ['in a column', (db) => db.prepare('INSERT INTO rows VALUES (?)').run(SECRET), /column rows.value/],
    ['zipped', (db) => db.prepare('INSERT INTO rows VALUES (?)').run(gzipSync(SECRET)), /column rows.value/],
    ['deflated', (db) => db.prepare('INSERT INTO rows VALUES (?)').run(deflateRawSync(SECRET)), /column rows.value/],
    [
      'in the write-ahead log, of a row that is gone',
      (db) => db.exec(`INSERT INTO rows VALUES ('${SECRET}'); DELETE FROM rows`),
      /file data.db-wal/,
    ],
  ])('%s of a database', (_, write, place) => {
    const dir = mkdtempSync(join(tmpdir(), 'trustward-planted-'));
    const db = new Database(join(dir, 'data.db'));
    onTestFinished(() => {
      db.close();
      rmSync(dir, { recursive: true });
    });
    db.pragma('journal_mode = WAL');
    db.exec('CREATE TABLE rows (value)');
    write(db);
    const { note, found } = planted();
    gather(dir, join(dir, 'data.db'), note, 'now');
    expect(found().join()).toMatch(place);
  });

  it('in a file beside it', () => {
    const dir = mkdtempSync(join(tmpdir(), 'trustward-planted-'));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    new Database(join(dir, 'data.db')).close();
    writeFileSync(join(dir, 'data.db.daemon.json'), JSON.stringify({ token: SECRET }));
    const { note, found } = planted();
    gather(dir, join(dir, 'data.db'), note, 'now');
    expect(found()).toEqual(['the file data.db.daemon.json now']);
  });

  it('in a header, a body and a page behind a page of an endpoint', async () => {
    const server = createServer((request, response) => {
      if (request.url === '/api/header') return void response.writeHead(200, { 'X-Leak': base64(SECRET) }).end('{}');
      if (request.url === '/api/body') return void response.end(JSON.stringify({ a: SECRET }));
      if (request.url === '/') return void response.end('<a href="/inner">in</a>');
      response.writeHead(200, { 'Set-Cookie': 'session=the-session-of-a-page-0001' }).end(`<p>${SECRET}</p>`);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { canaries, note, found } = planted();
    const ask = asking(url, () => '', note, []);
    await ask('GET', '/api/header');
    await ask('GET', '/api/body');
    await crawl(url, '', canaries, note);
    expect(found()).toEqual(['GET /api/header', 'GET /api/body', 'the page /inner']);
  });

  it('in a message to others, but not where it is the own address of its receiver', () => {
    const { note, found } = planted();
    const sent = {
      method: 'POST',
      path: `/hook/${SECRET}`,
      headers: { 'x-leak': SECRET },
      body: `{"a":"${MARK.slice(0, 18)}"}`,
    };
    noteDeliveries([sent], [SECRET], note);
    expect(found()).toEqual(['the body of a delivery', 'the headers of a delivery']);
  });

  it('in what a command writes', async () => {
    const { note, found } = planted();
    const ended = await trustward(['doctor'], { TRUSTWARD_MODE: SECRET });
    note('its output', ended.out + ended.err);
    expect(found()).toEqual(['its output']);
  });
});
