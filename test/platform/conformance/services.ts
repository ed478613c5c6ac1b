// conformance: endpoints 8 to 12: listing, creating, updating, deleting, enabling and disabling services. In: the
// specification's rules. Out: rules; those that change something clean up after themselves.
import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { PATHS, type Row, services, withService } from './fleet.ts';
import { NotChecked, query, type Rule, type Target } from './target.ts';

const LIST = '8. List services';
const INSERT = '9. Create or update a service';
const DELETE = '10. Delete a service';
const STATES = 'States and transitions';
const RECORD = 'Registered service';

const read = (section: string, line: string, check: Rule['check']): Rule => ({ section, line, check });
const rule = (section: string, line: string, check: Rule['check']): Rule => ({ section, line, writes: true, check });

const insert = (target: Target, spec: Row) => target.call('POST', PATHS.insertService, spec);
const turn = (target: Target, path: string, id: string) => target.call('POST', path + query({ ServiceID: id }));
const only = async (target: Target, id: string): Promise<Row> => (await services(target, id))[0];

const LIST_RULES: Rule[] = [
  read(LIST, 'the answer is a JSON array', async (target) => {
    ok(Array.isArray((await target.get(PATHS.services)).json));
  }),
  read(LIST, '`ServiceID` restricts it to one service', async (target) => {
    const [first] = await services(target);
    deepEqual(
      (await services(target, first.ServiceID)).map((each) => each.ServiceID),
      [first.ServiceID],
    );
  }),
  read(LIST, 'an unknown ServiceID gives an empty array', async (target) => {
    deepEqual(await services(target, 'no.such.service'), []);
  }),
  read(LIST, 'IsDefault is in the create/update response only', async (target) => {
    ok((await services(target)).every((each) => !('IsDefault' in each)));
  }),
  read(RECORD, 'ServiceID is the service name, the cluster name and a suffix, joined by dots', async (target) => {
    for (const each of await services(target))
      ok(each.ServiceID.startsWith(`${each.ServiceName}.${each.ClusterName}.`));
  }),
  rule(RECORD, 'new services of an organization have one suffix in their ServiceID', async (target) => {
    const suffixOf = (each: Row) => each.ServiceID.slice(`${each.ServiceName}.${each.ClusterName}.`.length);
    await withService(target, (one) =>
      withService(target, async (two) => {
        ok(suffixOf(one).length > 0);
        equal(suffixOf(one), suffixOf(two));
      }),
    );
  }),
  read(RECORD, 'ServiceName and ClusterName equal `metadata.name` and `metadata.cluster`', async (target) => {
    for (const each of await services(target)) {
      const { name, cluster } = JSON.parse(each.ServiceSpec).metadata;
      deepEqual([each.ServiceName, each.ClusterName], [name, cluster]);
    }
  }),
  read(RECORD, 'OIDCClientSpec has the keys trust_auth, trust_cb, client_id and client_secret', async (target) => {
    const keys = Object.keys(JSON.parse((await services(target))[0].OIDCClientSpec));
    for (const key of ['trust_auth', 'trust_cb', 'client_id', 'client_secret']) ok(keys.includes(key), key);
  }),
  read(RECORD, 'DeletedAt is 0 and DeletedBy empty when not deleted', async (target) => {
    for (const each of await services(target)) deepEqual([each.DeletedAt, each.DeletedBy], [0, '']);
  }),
];

const INSERT_RULES: Rule[] = [
  rule(
    STATES,
    'insert, when no service of that name is in that cluster: created with ServiceVersion 1',
    async (target) => {
      await withService(target, async (record) => equal(record.ServiceVersion, 1));
    },
  ),
  rule(STATES, 'insert, when there is one: it is updated, not created again', async (target) => {
    await withService(target, async (record, spec) => {
      const changed = { ...spec, metadata: { ...spec.metadata, description: 'changed' } };
      equal((await insert(target, changed)).status, 200);
      const found = (await services(target)).filter((each) => each.ServiceName === record.ServiceName);
      deepEqual(
        found.map((each) => [each.ServiceID, each.Description]),
        [[record.ServiceID, 'changed']],
      );
    });
  }),
  rule(INSERT, 'ServiceVersion grows with every update, and the answer is the whole record again', async (target) => {
    await withService(target, async (record, spec) => {
      const answer = (await insert(target, spec)).json;
      equal(answer.ServiceVersion, 2);
      deepEqual(Object.keys(answer).sort(), Object.keys(record).sort());
    });
  }),
  rule(INSERT, 'an update keeps CreatedAt, CreatedBy and Enabled', async (target) => {
    await withService(target, async (record, spec) => {
      await turn(target, PATHS.disableService, record.ServiceID);
      await insert(target, spec);
      const stored = await only(target, record.ServiceID);
      deepEqual([stored.CreatedAt, stored.CreatedBy, stored.Enabled], [record.CreatedAt, record.CreatedBy, 'FALSE']);
    });
  }),
  rule(INSERT, 'the same name in another cluster is another service', async (target) => {
    await withService(target, async (record, spec) => {
      const other = { ...spec, metadata: { ...spec.metadata, cluster: 'elsewhere' } };
      const answer = (await insert(target, other)).json;
      await target.call('DELETE', PATHS.deleteService + query({ ServiceID: answer.ServiceID }));
      ok(answer.ServiceID !== record.ServiceID && answer.ServiceVersion === 1);
    });
  }),
  ...(
    [
      ['Protocol', 'protocol', (record: Row) => record.Protocol, 'https'],
      ['Domain', 'domain', (record: Row) => record.Domain, undefined],
      ['Port', 'port', (record: Row) => String(record.Port), '8443'],
      ['UserFacing', 'user_facing', (record: Row) => record.UserFacing.toLowerCase(), 'true'],
    ] as const
  ).map(([field, tag, of, value]) =>
    rule(RECORD, `${field} mirrors \`metadata.tags.${tag}\``, async (target) => {
      await withService(target, async (record, spec) => equal(of(record), value ?? spec.metadata.tags[tag]));
    }),
  ),
  rule(
    RECORD,
    'the create response has trust_callbacks and disallow_async_auth_redirect in OIDCClientSpec',
    async (target) => {
      await withService(target, async (record) => {
        const client = JSON.parse(record.OIDCClientSpec);
        equal(typeof client.trust_callbacks, 'object');
        equal(typeof client.disallow_async_auth_redirect, 'boolean');
      });
    },
  ),
  rule(INSERT, 'the spec comes back in ServiceSpec as it was sent', async (target) => {
    await withService(target, async (record, spec) => {
      deepEqual(JSON.parse((await only(target, record.ServiceID)).ServiceSpec), spec);
    });
  }),
  ...(['name', 'cluster'] as const).map((field) =>
    rule(INSERT, `a spec without \`metadata.${field}\` is 400, and the Message names it`, async (target) => {
      const metadata = { name: 'x', cluster: 'y', [field]: undefined };
      const answer = await insert(target, { metadata });
      equal(answer.status, 400);
      match(answer.json.Message, new RegExp(`metadata\\.${field}`));
    }),
  ),
  rule(INSERT, 'a body that is no JSON is 400', async (target) => {
    equal((await target.call('POST', PATHS.insertService, '{"metadata":')).status, 400);
  }),
];

const SWITCH_RULES: Rule[] = (
  [
    ['11. Enable a service', PATHS.enableService, 'TRUE', 'enabled'],
    ['12. Disable a service', PATHS.disableService, 'FALSE', 'disabled'],
  ] as const
).flatMap(([section, path, state, word]) => [
  rule(STATES, `Service, Enabled becomes ${state} by \`${path.slice('/api/v1/'.length)}\``, async (target) => {
    await withService(target, async (record) => {
      await turn(target, PATHS.disableService, record.ServiceID);
      if (state === 'FALSE') await turn(target, PATHS.enableService, record.ServiceID);
      equal((await turn(target, path, record.ServiceID)).status, 200);
      equal((await only(target, record.ServiceID)).Enabled, state);
    });
  }),
  rule(section, `the answer is a Message that says it was ${word}`, async (target) => {
    await withService(target, async (record) => {
      match((await turn(target, path, record.ServiceID)).json.Message, new RegExp(word));
    });
  }),
  rule(STATES, `a notification goes to all enforcement agents when a service is ${word}`, async (target) => {
    const sent = async () => {
      const answer = await target.get('/notifications');
      if (answer.status !== 200) throw new NotChecked('the target does not show its notifications');
      return answer.json.data as Row[];
    };
    await withService(target, async (record) => {
      await turn(target, state === 'TRUE' ? PATHS.disableService : PATHS.enableService, record.ServiceID);
      const before = (await sent()).length;
      await turn(target, path, record.ServiceID);
      const fresh = (await sent()).slice(before);
      const agents = new Set((await sent()).map((each) => each.agent));
      deepEqual(new Set(fresh.map((each) => each.agent)), agents);
      ok(fresh.every((each) => each.service_id === record.ServiceID && each.enabled === state));
    });
  }),
  rule(section, 'an unknown ServiceID is 400', async (target) => {
    equal((await turn(target, path, 'no.such.service')).status, 400);
  }),
  rule(section, 'a missing ServiceID is 400, and the Message names it', async (target) => {
    const answer = await target.call('POST', path);
    equal(answer.status, 400);
    match(answer.json.Message, /ServiceID/);
  }),
  rule(section, 'it is in the event log', async (target) => {
    await withService(target, async (record) => {
      await turn(target, state === 'TRUE' ? PATHS.disableService : PATHS.enableService, record.ServiceID);
      const count = async () =>
        (await target.get(PATHS.countEvents + query({ service_name: record.ServiceName }))).json.data as number;
      const before = await count();
      await turn(target, path, record.ServiceID);
      equal(await count(), before + 1);
    });
  }),
]);

const DELETE_RULES: Rule[] = [
  rule(STATES, 'Service, any → removed by `delete_registered_service`', async (target) => {
    await withService(target, async (record) => {
      equal((await target.call('DELETE', PATHS.deleteService + query({ ServiceID: record.ServiceID }))).status, 200);
      deepEqual(await services(target, record.ServiceID), []);
    });
  }),
  rule(DELETE, 'after a deletion the same name makes a new service of version 1', async (target) => {
    await withService(target, async (record, spec) => {
      await target.call('DELETE', PATHS.deleteService + query({ ServiceID: record.ServiceID }));
      equal((await insert(target, spec)).json.ServiceVersion, 1);
    });
  }),
  rule(DELETE, 'the answer is empty, or JSON with a Message', async (target) => {
    await withService(target, async (record) => {
      const answer = await target.call('DELETE', PATHS.deleteService + query({ ServiceID: record.ServiceID }));
      ok(answer.text === '' || typeof answer.json.Message === 'string');
    });
  }),
  rule(DELETE, 'a missing ServiceID is 400', async (target) => {
    equal((await target.call('DELETE', PATHS.deleteService)).status, 400);
  }),
  rule(DELETE, 'an unknown ServiceID is 400', async (target) => {
    equal((await target.call('DELETE', PATHS.deleteService + query({ ServiceID: 'no.such.service' }))).status, 400);
  }),
];

export const SERVICE_RULES: Rule[] = [...LIST_RULES, ...INSERT_RULES, ...DELETE_RULES, ...SWITCH_RULES];
