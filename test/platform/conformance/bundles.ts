// conformance: endpoints 13 to 19: service bundles and the membership of services in them.
// In: the specification's table. Out: rules; each makes its own bundle and services, and deletes them.
import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { PATHS, type Row, withBundle } from './fleet.ts';
import type { Rule, Target } from './target.ts';

const SECTION = 'Bundle endpoints';
const rule = (line: string, check: Rule['check']): Rule => ({ section: SECTION, line, writes: true, check });

const read = async (target: Target, id: string): Promise<Row> => (await target.get(`${PATHS.bundle}/${id}`)).json.data;
const succeeded = (answer: { status: number; json: Row }) => {
  equal(answer.status, 200);
  deepEqual([answer.json.error_code, answer.json.error_description], [0, '']);
};

async function refused(target: Target, method: string, path: string, body: unknown, named: RegExp): Promise<void> {
  const answer = await target.call(method, path, body);
  equal(answer.status, 400, answer.text);
  ok(answer.json.error_code !== 0);
  match(answer.json.error_description, named);
  equal(typeof answer.json.request_id, 'string');
}

export const BUNDLE_RULES: Rule[] = [
  rule('13: a bundle is created with the name, description, services and bulk_connect of the body', async (target) => {
    await withBundle(target, async (bundle, [one]) => {
      match(bundle.bundle_name, /^bundle of /);
      deepEqual(
        [bundle.description, bundle.service_ids, bundle.bulk_connect],
        ['made by the conformance suite', [one], true],
      );
    });
  }),
  rule('13: a body without bundle_name is 400', (target) =>
    refused(target, 'POST', PATHS.bundle, { description: 'x' }, /bundle_name/),
  ),
  rule('13: service_ids that are no array of strings are 400', (target) =>
    refused(target, 'POST', PATHS.bundle, { bundle_name: 'x', service_ids: [17] }, /service_ids/),
  ),
  rule('13: bulk_connect that is no boolean is 400', (target) =>
    refused(target, 'POST', PATHS.bundle, { bundle_name: 'x', bulk_connect: 'yes' }, /bulk_connect/),
  ),
  rule('13: a service that does not exist is 400, and no bundle is created', async (target) => {
    const name = `half done ${process.pid}`;
    await refused(
      target,
      'POST',
      PATHS.bundle,
      { bundle_name: name, service_ids: ['no.such.service'] },
      /no\.such\.service/,
    );
    const all = (await target.get(PATHS.bundle)).json.data.bundles ?? [];
    ok(all.every((each: Row) => each.bundle_name !== name));
  }),
  rule('14: one service is added to a bundle', async (target) => {
    await withBundle(target, async (bundle, [one, two]) => {
      succeeded(await target.call('POST', `${PATHS.bundle}/${bundle.id}/service`, { service_id: two }));
      deepEqual((await read(target, bundle.id)).service_ids, [one, two]);
    });
  }),
  rule('14: a body without service_id is 400', async (target) => {
    await withBundle(target, (bundle) =>
      refused(target, 'POST', `${PATHS.bundle}/${bundle.id}/service`, {}, /service_id/),
    );
  }),
  rule('15: a bundle takes the new values, and the answer has them', async (target) => {
    await withBundle(target, async (bundle, [, two]) => {
      const body = {
        bundle_name: `${bundle.bundle_name} new`,
        description: 'new',
        service_ids: [two],
        bulk_connect: false,
      };
      const answer = await target.call('PUT', `${PATHS.bundle}/${bundle.id}`, body);
      succeeded(answer);
      for (const [name, value] of Object.entries(body)) deepEqual(answer.json.data[name], value, name);
      deepEqual(await read(target, bundle.id), answer.json.data);
    });
  }),
  rule('15: an unknown bundle is 400', (target) =>
    refused(target, 'PUT', `${PATHS.bundle}/no-such-bundle`, { bundle_name: 'x' }, /no-such-bundle/),
  ),
  rule('16: a bundle is deleted; the data of the answer is an empty object', async (target) => {
    await withBundle(target, async (bundle) => {
      const answer = await target.call('DELETE', `${PATHS.bundle}/${bundle.id}`, {});
      succeeded(answer);
      deepEqual(answer.json.data, {});
      equal((await target.get(`${PATHS.bundle}/${bundle.id}`)).status, 400);
    });
  }),
  rule('16: an unknown bundle is 400', (target) =>
    refused(target, 'DELETE', `${PATHS.bundle}/no-such-bundle`, {}, /no-such-bundle/),
  ),
  rule('17: one service is removed, named in the body; the data of the answer is an empty object', async (target) => {
    await withBundle(target, async (bundle, [one]) => {
      const answer = await target.call('DELETE', `${PATHS.bundle}/${bundle.id}/service`, { service_id: one });
      succeeded(answer);
      deepEqual(answer.json.data, {});
      deepEqual((await read(target, bundle.id)).service_ids, []);
    });
  }),
  rule('17: newer clients name the service in the path, without a body', async (target) => {
    await withBundle(target, async (bundle, [one]) => {
      succeeded(await target.call('DELETE', `${PATHS.bundle}/${bundle.id}/service/${encodeURIComponent(one)}`));
      deepEqual((await read(target, bundle.id)).service_ids, []);
    });
  }),
  rule('17: a service that is not in the bundle is 400', async (target) => {
    await withBundle(target, (bundle, [, two]) =>
      refused(target, 'DELETE', `${PATHS.bundle}/${bundle.id}/service`, { service_id: two }, /no service/),
    );
  }),
  rule('18: services are associated with a bundle: one bundled service for each', async (target) => {
    await withBundle(target, async (bundle, [one, two]) => {
      const answer = await target.call('POST', PATHS.serviceBundle, { bundle_id: bundle.id, service_ids: [one, two] });
      succeeded(answer);
      const rows = answer.json.data.bundled_services as Row[];
      deepEqual(
        rows.map((each) => [each.bundle_id, each.service_id]),
        [
          [bundle.id, one],
          [bundle.id, two],
        ],
      );
    });
  }),
  ...['bundle_id', 'service_ids'].map((field) =>
    rule(`18: a body without ${field} is 400`, (target) => {
      const body = { bundle_id: 'x', service_ids: ['y'], [field]: undefined };
      return refused(target, 'POST', PATHS.serviceBundle, body, new RegExp(field));
    }),
  ),
  rule('19: an association is removed; the data of the answer is an empty object', async (target) => {
    await withBundle(target, async (bundle, [, two]) => {
      const made = await target.call('POST', PATHS.serviceBundle, { bundle_id: bundle.id, service_ids: [two] });
      const answer = await target.call('DELETE', `${PATHS.serviceBundle}/${made.json.data.bundled_services[0].id}`, {});
      succeeded(answer);
      deepEqual(answer.json.data, {});
      ok(!(await read(target, bundle.id)).service_ids.includes(two));
    });
  }),
  rule('19: an unknown association is 400', (target) =>
    refused(target, 'DELETE', `${PATHS.serviceBundle}/no-such-association`, {}, /no-such-association/),
  ),
  ...['/api/experimental/v2', '/api/v2'].map((prefix) =>
    rule(`bundles are found at \`${prefix}\` too`, async (target) => {
      await withBundle(target, async (bundle) => {
        const answer = await target.get(`${prefix}/bundle/${bundle.id}`);
        succeeded(answer);
        equal(answer.json.data.id, bundle.id);
      });
    }),
  ),
  {
    section: 'Bundle envelope',
    line: 'on success `error_code` is 0 and `error_description` empty',
    writes: true,
    check: (target) =>
      withBundle(target, async (bundle) => succeeded(await target.get(`${PATHS.bundle}/${bundle.id}`))),
  },
];
