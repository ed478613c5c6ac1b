// test console: internal failures, and unknown addresses: the two shapes of errors, with nothing internal in them. In:
// a console whose tables are dropped under it. Out: tests of 500, 404 and 405.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Organization, openOrganization } from '../support/console-organization.ts';

let folder: string;
let org: Organization;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'console-failures-'));
  org = await openOrganization({ dbFile: join(folder, 'console.db') });
});
afterEach(async () => {
  await org.console.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Breaks the database from another connection, as a damaged disk would. */
function dropTable(name: string): void {
  const db = new Database(join(folder, 'console.db'));
  db.pragma('foreign_keys = OFF');
  db.exec(`DROP TABLE ${name}`);
  db.close();
}

const INTERNALS = /no such table|SQLITE|sqlite| at .*\.ts/;

describe('a console whose database is broken', () => {
  it.each([
    ['service', 'GET', '/api/v1/registered_services', undefined],
    ['service', 'POST', '/api/v1/insert_registered_service', { metadata: { name: 'a', cluster: 'c' } }],
    ['device', 'GET', '/api/v1/devices', undefined],
    ['device', 'GET', '/api/v1/devices?Skip=0&Limit=5', undefined],
    ['device', 'POST', '/api/v1/mdm/update_device?SerialNumber=SN-BROKEN', [{ Banned: 'TRUE' }]],
  ])('without the table %s answers %s %s with 500 and a Message, and logs why', async (table, method, path, body) => {
    org.console.fleet.addDevice({ serial: 'SN-BROKEN' });
    dropTable(table);
    const answer = await org.call(method, path, body);
    expect(answer.status).toBe(500);
    expect(answer.json).toEqual({ Message: expect.stringMatching(/./) });
    expect(answer.text).not.toMatch(INTERNALS);
    expect(JSON.stringify(org.errors)).toContain(`no such table: ${table}`);
  });

  it.each([
    ['GET', '/experimental/v2/bundle', undefined],
    ['POST', '/experimental/v2/bundle', { bundle_name: 'b' }],
  ])('answers %s %s with 500 inside the envelope, and logs why', async (method, path, body) => {
    dropTable('bundle');
    const answer = await org.call(method, path, body, org.adminToken);
    expect(answer.status).toBe(500);
    expect(answer.json).toEqual({
      request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      error_code: 500,
      Message: expect.any(String),
      error_description: expect.stringMatching(/./),
      data: {},
    });
    expect(answer.text).not.toMatch(INTERNALS);
    expect(JSON.stringify(org.errors)).toContain('no such table');
  });
});

describe('an address below the bundles', () => {
  it.each([
    [404, 'GET', '/experimental/v2/no_such_address'],
    [405, 'PATCH', '/experimental/v2/bundle'],
  ])('that is %i answers in an envelope with a request id', async (status, method, path) => {
    const answer = await org.call(method, path, undefined, org.adminToken);
    expect(answer.status).toBe(status);
    expect(answer.json.error_code).toBe(status);
    expect(answer.json.request_id).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('two services whose name and cluster join to one ServiceID', () => {
  it('the second is 400 and named; the first stays, and can be updated', async () => {
    const insert = (name: string, cluster: string) =>
      org.call('POST', '/api/v1/insert_registered_service', { metadata: { name, cluster } });
    expect((await insert('a.b', 'c')).status).toBe(200);
    const refused = await insert('a', 'b.c');
    expect([refused.status, refused.json.Message]).toEqual([400, expect.stringContaining('`metadata.name`')]);
    expect((await insert('a.b', 'c')).json.ServiceVersion).toBe(2);
    expect(org.errors).toEqual([]);
  });

  it('the second is created once the first is deleted', async () => {
    const insert = (name: string, cluster: string) =>
      org.call('POST', '/api/v1/insert_registered_service', { metadata: { name, cluster } });
    const { ServiceID } = (await insert('a.b', 'c')).json;
    await org.call('DELETE', `/api/v1/delete_registered_service?ServiceID=${ServiceID}`);
    expect((await insert('a', 'b.c')).json).toMatchObject({ ServiceID, ServiceName: 'a', ClusterName: 'b.c' });
  });
});
