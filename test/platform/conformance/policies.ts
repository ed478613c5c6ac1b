// conformance: policies, what they are attached to, the shield configuration and API keys, as tools that keep an organization as code call them.
// In: the field notes. Out: rules; those that change something clean up after themselves.
import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { type FieldTable, fieldRules } from './fields.ts';
import { PATHS, type Row, services, withService } from './fleet.ts';
import { query, type Rule, type Target } from './target.ts';

const SECTION = 'Versioning';

let made = 0;

function freshPolicy(): Row {
  made++;
  return {
    kind: 'ConformancePolicy',
    apiVersion: 'rbac.example/v1',
    type: 'USER',
    metadata: { name: `conformance-policy-${process.pid}-${made}`, description: 'made by the conformance suite' },
    spec: { access: [] },
  };
}

const ids = (policy: Row, service: Row) => ({ PolicyID: policy.PolicyID, ServiceID: service.ServiceID });
const attachments = async (target: Target, serviceId: string): Promise<Row[]> =>
  (await target.get(`${PATHS.servicePolicies}/${encodeURIComponent(serviceId)}`)).json;
const policy = async (target: Target, id: string): Promise<Row[]> =>
  (await target.get(PATHS.policies + query({ PolicyID: id }))).json;

/** Creates a policy, hands over its record, and deletes it again. */
async function withPolicy(target: Target, work: (record: Row, spec: Row) => Promise<void>): Promise<void> {
  const spec = freshPolicy();
  const answer = await target.call('POST', PATHS.insertPolicy, spec);
  equal(answer.status, 200, answer.text);
  try {
    await work(answer.json, spec);
  } finally {
    await target.call('DELETE', PATHS.deletePolicy + query({ PolicyID: answer.json.PolicyID }));
  }
}

/** A policy, attached to a service. */
async function withAttachment(
  target: Target,
  work: (policy: Row, service: Row, attached: Row) => Promise<void>,
): Promise<void> {
  await withService(target, (service) =>
    withPolicy(target, async (record) => {
      const answer = await target.call(
        'POST',
        PATHS.attachPolicy + query({ ...ids(record, service), Enabled: 'TRUE' }),
      );
      equal(answer.status, 200, answer.text);
      try {
        await work(record, service, answer.json);
      } finally {
        await target.call('DELETE', PATHS.detachPolicy + query(ids(record, service)));
      }
    }),
  );
}

async function withKey(
  target: Target,
  work: (record: Row) => Promise<void>,
  scope: string = 'ReadOnly',
): Promise<void> {
  made++;
  const body = { name: `conformance-key-${process.pid}-${made}`, description: 'of the suite', scope };
  const answer = await target.call('POST', PATHS.apiKey, body);
  equal(answer.status, 200, answer.text);
  equal(answer.json.error_code, 0);
  try {
    await work(answer.json.data);
  } finally {
    await target.call('DELETE', `${PATHS.apiKey}/${answer.json.data.id}`);
  }
}

/** The records that something made shows, for rules about their fields. */
function kept(work: (target: Target, keep: (rows: Row[]) => void) => Promise<void>): FieldTable['read'] {
  return async (target) => {
    let rows: Row[] = [];
    await work(target, (found) => {
      rows = found;
    });
    return rows;
  };
}

const table = (of: string, read: FieldTable['read'], fields: FieldTable['fields']): Rule[] =>
  fieldRules({ section: SECTION, of, read, fields, writes: true });

const FIELD_RULES: Rule[] = [
  ...table(
    'policies',
    kept((target, keep) => withPolicy(target, async (record) => keep(await policy(target, record.PolicyID)))),
    {
      PolicyID: 'string',
      PolicyName: 'string',
      PolicySpec: 'json text',
      PolicyVersion: 'integer',
      Description: 'string',
      CreatedAt: 'integer',
      CreatedBy: 'string',
      LastUpdatedAt: 'integer',
      LastUpdatedBy: 'string',
      DeletedAt: 'integer',
      DeletedBy: 'string',
    },
  ),
  ...table(
    'policies attached',
    kept((target, keep) => withAttachment(target, async (_policy, _service, attached) => keep([attached]))),
    { PolicyID: 'string', ServiceID: 'string', Enabled: 'flag', AttachedBy: 'string', AttachedAt: 'integer' },
  ),
  ...table(
    'policies of a service',
    kept((target, keep) =>
      withAttachment(target, async (_policy, service) => keep(await attachments(target, service.ServiceID))),
    ),
    {
      PolicyID: 'string',
      PolicyName: 'string',
      AttachedToID: 'string',
      AttachedToName: 'string',
      AttachedToType: 'string',
      Enabled: 'flag',
      AttachedAt: 'integer',
      AttachedBy: 'string',
    },
  ),
  ...table(
    'API keys',
    kept((target, keep) => withKey(target, async (record) => keep([record]))),
    { id: 'string', org_id: 'string', name: 'string', description: 'string', scope: 'string', secret: 'string' },
  ),
];

const rule = (line: string, check: Rule['check']): Rule => ({ section: SECTION, line, writes: true, check });

type Call = [method: string, path: string];

const POLICY_READS: Call[] = [
  ['GET', PATHS.services],
  ['GET', PATHS.policies],
  ['GET', `${PATHS.servicePolicies}/no.such.service`],
  ['GET', PATHS.shieldConfig],
];
const SERVICE_WRITES: Call[] = [
  ['POST', PATHS.insertService],
  ['DELETE', PATHS.deleteService],
  ['POST', PATHS.enableService],
  ['POST', PATHS.disableService],
];
const POLICY_WRITES: Call[] = [
  ['POST', PATHS.insertPolicy],
  ['DELETE', PATHS.deletePolicy],
  ['POST', PATHS.attachPolicy],
  ['DELETE', PATHS.detachPolicy],
];
const KEYS: Call[] = [
  ['GET', PATHS.apiKey],
  ['POST', PATHS.apiKey],
  ['PUT', `${PATHS.apiKey}/no-such`],
  ['DELETE', `${PATHS.apiKey}/no-such`],
];
const EVENT_READS: Call[] = [
  ['GET', PATHS.events],
  ['GET', PATHS.countEvents],
  ['GET', PATHS.feed],
];
const SUBMIT: Call = ['POST', PATHS.events];

/** By scope: what it permits, and what it does not. */
const SCOPES: [scope: string, may: Call[], mayNot: Call[]][] = [
  [
    'ReadOnly',
    [...POLICY_READS, ...EVENT_READS, ...KEYS.slice(0, 1)],
    [...SERVICE_WRITES, ...POLICY_WRITES, ...KEYS.slice(1), SUBMIT],
  ],
  ['ServiceAuthor', [...POLICY_READS, ...SERVICE_WRITES], [...POLICY_WRITES, ...KEYS, ...EVENT_READS, SUBMIT]],
  ['PolicyAuthor', [...POLICY_READS, ...POLICY_WRITES], [...SERVICE_WRITES, ...KEYS, ...EVENT_READS, SUBMIT]],
  ['EventWriter', [SUBMIT], [...POLICY_READS, ...SERVICE_WRITES, ...POLICY_WRITES, ...KEYS, ...EVENT_READS]],
  ['read_logs', EVENT_READS, [...POLICY_READS, ...SERVICE_WRITES, ...POLICY_WRITES, ...KEYS, SUBMIT]],
];

const OTHERS: Rule[] = [
  rule('policies: an insert of a new name creates version 1, another one of it updates it', async (target) => {
    await withPolicy(target, async (record, spec) => {
      equal(record.PolicyVersion, 1);
      const changed = { ...spec, metadata: { ...spec.metadata, description: 'changed' } };
      const answer = (await target.call('POST', PATHS.insertPolicy, changed)).json;
      deepEqual(
        [answer.PolicyID, answer.PolicyVersion, answer.Description, answer.CreatedAt],
        [record.PolicyID, 2, 'changed', record.CreatedAt],
      );
      deepEqual(JSON.parse(answer.PolicySpec), changed);
    });
  }),
  rule('policies: `PolicyID` restricts the list to one; an unknown one gives an empty array', async (target) => {
    await withPolicy(target, async (record) => {
      deepEqual(
        (await policy(target, record.PolicyID)).map((each) => each.PolicyName),
        [record.PolicyName],
      );
      ok((await target.get(PATHS.policies)).json.length >= 1);
      deepEqual(await policy(target, 'no-such-policy'), []);
    });
  }),
  rule('policies: a deletion answers a Message, and takes it from the list', async (target) => {
    const record = (await target.call('POST', PATHS.insertPolicy, freshPolicy())).json;
    const answer = await target.call('DELETE', PATHS.deletePolicy + query({ PolicyID: record.PolicyID }));
    equal(answer.status, 200, answer.text);
    equal(typeof answer.json.Message, 'string');
    deepEqual(await policy(target, record.PolicyID), []);
    equal((await target.call('DELETE', PATHS.deletePolicy + query({ PolicyID: record.PolicyID }))).status, 400);
  }),
  rule('policies: one that is attached is not deleted unseen: 400, and the service keeps it', async (target) => {
    await withAttachment(target, async (record, service) => {
      const answer = await target.call('DELETE', PATHS.deletePolicy + query({ PolicyID: record.PolicyID }));
      equal(answer.status, 400, answer.text);
      equal((await attachments(target, service.ServiceID)).length, 1);
    });
  }),
  {
    section: SECTION,
    line: 'policies of a service: an empty array where it has none, and for an unknown ServiceID',
    async check(target) {
      const answer = await target.get(`${PATHS.servicePolicies}/no.such.service`);
      deepEqual([answer.status, answer.json], [200, []]);
      if (target.credentials.mayWrite)
        await withService(target, async ({ ServiceID: id }) => deepEqual(await attachments(target, id), []));
    },
  },
  rule('policies: attaching, detaching and deleting what is not there is 400 and named', async (target) => {
    await withPolicy(target, async ({ PolicyID }) => {
      await withService(target, async ({ ServiceID }) => {
        for (const params of [
          { PolicyID, ServiceID },
          { PolicyID: 'no-such', ServiceID },
        ]) {
          const answer = await target.call('DELETE', PATHS.detachPolicy + query(params));
          equal(answer.status, 400);
          match(answer.json.Message, /attached|PolicyID/);
        }
      });
    });
  }),
  rule('policies of a service: what was attached, until it is detached', async (target) => {
    await withAttachment(target, async (record, service) => {
      const [one, ...more] = await attachments(target, service.ServiceID);
      deepEqual(more, []);
      deepEqual(
        [one?.PolicyID, one?.PolicyName, one?.AttachedToID, one?.AttachedToName, one?.AttachedToType, one?.Enabled],
        [record.PolicyID, record.PolicyName, service.ServiceID, service.ServiceName, 'service', 'TRUE'],
      );
      const answer = await target.call('DELETE', PATHS.detachPolicy + query(ids(record, service)));
      equal(answer.status, 200, answer.text);
      equal(typeof answer.json.Message, 'string');
      deepEqual(await attachments(target, service.ServiceID), []);
    });
  }),
  rule('policies: attached by a form as by a query, enabled or not', async (target) => {
    await withAttachment(target, async (record, service) => {
      const form = new URLSearchParams({ ...ids(record, service), Enabled: 'FALSE' }).toString();
      const answer = await target.call('POST', PATHS.attachPolicy, form);
      equal(answer.status, 200, answer.text);
      equal(answer.json.Enabled, 'FALSE');
      equal((await attachments(target, service.ServiceID))[0]?.Enabled, 'FALSE');
    });
  }),
  rule('policies: an unknown PolicyID or ServiceID is 400 and named', async (target) => {
    await withAttachment(target, async (record, service) => {
      for (const wrong of [{ PolicyID: 'no-such' }, { ServiceID: 'no.such.service' }]) {
        const answer = await target.call('POST', PATHS.attachPolicy + query({ ...ids(record, service), ...wrong }));
        equal(answer.status, 400);
        match(answer.json.Message, new RegExp(Object.keys(wrong)[0] as string));
      }
    });
  }),
  rule('policies: a service that is deleted leaves its policies', async (target) => {
    await withAttachment(target, async (record, service) => {
      await target.call('DELETE', PATHS.deleteService + query({ ServiceID: service.ServiceID }));
      equal((await target.call('DELETE', PATHS.deletePolicy + query({ PolicyID: record.PolicyID }))).status, 200);
    });
  }),
  rule('policies: creating, attaching, detaching and deleting is in the event log', async (target) => {
    let name = '';
    await withAttachment(target, async (record) => {
      name = record.PolicyName;
    });
    const log = (await target.get(`/api/v1/events${query({ type: 'Audit', limit: 100 })}`)).json.data as Row[];
    const actions = log.filter((each) => each.message.includes(name)).map((each) => each.action);
    deepEqual(actions.reverse(), ['PolicyCreate', 'PolicyAttach', 'PolicyDetach', 'PolicyDelete']);
  }),
  {
    section: SECTION,
    line: '`GET /api/v2/shield_config` names the shields',
    async check(target) {
      const { json } = await target.get(PATHS.shieldConfig);
      equal(json.error_code, 0);
      ok(json.data.Configs.length > 0);
      ok(json.data.Configs.every((each: Row) => typeof each.ShieldName === 'string'));
    },
  },
  rule('API keys: a new one works by its scope, and only the answer that makes it shows its secret', async (target) => {
    await withKey(target, async (record) => {
      const as = { authorization: `Bearer ${record.secret}` };
      equal((await target.get(PATHS.services, as)).status, 200);
      equal((await target.call('POST', PATHS.apiKey, { name: 'x', scope: 'Admin' }, as)).status, 403);
      const answer = await target.get(PATHS.apiKey);
      ok(answer.json.data.some((each: Row) => each.id === record.id && each.name === record.name));
      ok(!answer.text.includes(record.secret));
    });
  }),
  rule('API keys: a name that is taken, an unknown scope and an unknown id are 400', async (target) => {
    await withKey(target, async ({ name }) => {
      equal((await target.call('POST', PATHS.apiKey, { name, scope: 'ReadOnly' })).status, 400);
      equal((await target.call('POST', PATHS.apiKey, { name: 'y', scope: 'Everything' })).status, 400);
      equal((await target.call('PUT', `${PATHS.apiKey}/no-such`, { name: 'y' })).status, 400);
      equal((await target.call('DELETE', `${PATHS.apiKey}/no-such`)).status, 400);
    });
  }),
  rule('API keys: a change of name, description and scope keeps id and secret, and counts at once', async (target) => {
    await withKey(target, async (record) => {
      const patch = { name: `${record.name}-b`, description: 'changed', scope: 'EventWriter' };
      const { data } = (await target.call('PUT', `${PATHS.apiKey}/${record.id}`, patch)).json;
      deepEqual([data.id, data.name, data.description, data.scope], [record.id, ...Object.values(patch)]);
      equal((await target.get(PATHS.services, { authorization: `Bearer ${record.secret}` })).status, 403);
    });
  }),
  rule(
    'API keys: a deleted one is 401 from then on, with the access tokens that it was exchanged for',
    async (target) => {
      await withKey(target, async (record) => {
        const key = { authorization: `Bearer ${record.secret}` };
        const token = (await target.call('POST', PATHS.refreshToken, undefined, key)).json.Message;
        equal((await target.get(PATHS.services, { authorization: `Bearer ${token}` })).status, 200);
        equal((await target.call('DELETE', `${PATHS.apiKey}/${record.id}`)).status, 200);
        for (const authorization of [key.authorization, `Bearer ${token}`])
          equal((await target.get(PATHS.services, { authorization })).status, 401);
      });
    },
  ),
  rule('policies and API keys: a text of null is taken for none', async (target) => {
    const spec = freshPolicy();
    const sent = { ...spec, metadata: { ...spec.metadata, id: null, description: null } };
    const { json, status } = await target.call('POST', PATHS.insertPolicy, sent);
    await target.call('DELETE', PATHS.deletePolicy + query({ PolicyID: json.PolicyID ?? '' }));
    deepEqual([status, json.Description], [200, '']);
    await withKey(target, async ({ id }) => {
      const answer = await target.call('PUT', `${PATHS.apiKey}/${id}`, { description: null });
      deepEqual([answer.status, answer.json.data.description], [200, 'of the suite']);
    });
  }),
  ...SCOPES.map(([scope, may, mayNot]) =>
    rule(`API keys: the scope ${scope} permits what it is for, and no more`, (target) =>
      withKey(
        target,
        async ({ secret }) => {
          const as = { authorization: `Bearer ${secret}` };
          const statusOf = async ([method, path]: Call) => (await target.call(method, path, undefined, as)).status;
          // What is permitted lacks a body or a parameter: 400 where it would change something.
          for (const call of may) equal(await statusOf(call), call[0] === 'GET' ? 200 : 400, call.join(' '));
          for (const call of mayNot) equal(await statusOf(call), 403, call.join(' '));
        },
        scope,
      ),
    ),
  ),
  rule('API keys: a new one of the name of a deleted one does not bring its access tokens back', async (target) => {
    await withKey(target, async (record) => {
      const key = { authorization: `Bearer ${record.secret}` };
      const token = (await target.call('POST', PATHS.refreshToken, undefined, key)).json.Message;
      equal((await target.call('DELETE', `${PATHS.apiKey}/${record.id}`)).status, 200);
      const again = await target.call('POST', PATHS.apiKey, { name: record.name, scope: record.scope });
      try {
        equal(again.status, 200, again.text);
        ok(again.json.data.id !== record.id);
        equal((await target.get(PATHS.services, { authorization: `Bearer ${token}` })).status, 401);
      } finally {
        await target.call('DELETE', `${PATHS.apiKey}/${again.json.data.id}`);
      }
    });
  }),
  rule('API keys: a change of the name alone keeps the access tokens', async (target) => {
    await withKey(target, async (record) => {
      const key = { authorization: `Bearer ${record.secret}` };
      const token = (await target.call('POST', PATHS.refreshToken, undefined, key)).json.Message;
      equal((await target.call('PUT', `${PATHS.apiKey}/${record.id}`, { name: `${record.name}-c` })).status, 200);
      equal((await target.get(PATHS.services, { authorization: `Bearer ${token}` })).status, 200);
    });
  }),
  rule('API keys: a name of control characters, or longer than 200, is 400', async (target) => {
    for (const name of ['two\nlines', 'nul\0', 'n'.repeat(201), '   ']) {
      const answer = await target.call('POST', PATHS.apiKey, { name, scope: 'ReadOnly' });
      if (answer.status === 200) await target.call('DELETE', `${PATHS.apiKey}/${answer.json.data.id}`);
      equal(answer.status, 400, JSON.stringify(name));
      match(answer.json.Message, /name/);
    }
  }),
];

const TAGS: [line: string, tags: Row, shown: Row][] = [
  ['`user_facing` is `"TRUE"` only for true', { user_facing: 'everyone' }, { UserFacing: 'FALSE' }],
  ['a `user_facing` of true in any case is `"TRUE"`', { user_facing: 'True' }, { UserFacing: 'TRUE' }],
  ['a `port` that is no number is stored, and shown as 0', { port: '8000-9000' }, { Port: 0 }],
  ['a `port` that is a number is shown', { port: '8443' }, { Port: 8443 }],
  ['any `protocol` is stored', { protocol: 'carrier pigeon' }, { Protocol: 'carrier pigeon' }],
  ['any `template` is stored', { template: 'NO_SUCH_TEMPLATE' }, {}],
  ['any `service_app_type` is stored', { service_app_type: 'CUSTOM' }, {}],
  ['null is taken for none', { port: null, protocol: null, icon: null }, { Port: 0, Protocol: '' }],
];

const INSERT = '9. Create or update a service';

const TAG_RULES: Rule[] = [
  ...TAGS.map(
    ([line, tags, shown]): Rule => ({
      section: INSERT,
      line: `tags are free texts: ${line}`,
      writes: true,
      check: (target) =>
        withService(target, async (record, spec) => {
          const sent = { ...spec, metadata: { ...spec.metadata, tags: { ...spec.metadata.tags, ...tags } } };
          const answer = await target.call('POST', PATHS.insertService, sent);
          equal(answer.status, 200, answer.text);
          const [stored] = await services(target, record.ServiceID);
          deepEqual(JSON.parse(stored.ServiceSpec), sent);
          for (const [name, value] of Object.entries(shown)) equal(stored[name], value, name);
        }),
    }),
  ),
  {
    section: INSERT,
    line: 'FriendlyName is `metadata.friendly_name`, otherwise the name, and its filter finds it',
    writes: true,
    check: (target) =>
      withService(target, async (record, spec) => {
        equal(record.FriendlyName, record.ServiceName);
        const friendly = `friend of ${record.ServiceName}`;
        const sent = { ...spec, metadata: { ...spec.metadata, friendly_name: friendly } };
        equal((await target.call('POST', PATHS.insertService, sent)).json.FriendlyName, friendly);
        const found: Row[] = (await target.get(PATHS.services + query({ FriendlyName: friendly }))).json;
        deepEqual(
          found.map((each) => [each.ServiceID, each.FriendlyName]),
          [[record.ServiceID, friendly]],
        );
      }),
  },
];

export const POLICY_RULES: Rule[] = [...FIELD_RULES, ...OTHERS, ...TAG_RULES];
