// http: trying a changed rule: the text and the caller reach the port, and the answer is JSON without missing fields.
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { bodyOf, openEndpoint } from '../../support/endpoint.ts';
import { RULE } from '../../support/rule-samples.ts';

const PATH = `/api/rules/${RULE.id}/try`;

describe('POST /api/rules/:id/try', () => {
  it('tries the text in the name of the caller, and shows what would change', async () => {
    const { ask, trials } = openEndpoint();
    const body = await bodyOf<object>(ask('POST', PATH, { scope: 'trigger', body: { text: 'id: x' } }));
    expect(trials).toEqual([{ id: RULE.id, text: 'id: x', by: 'triggerer' }]);
    expect(body).toMatchObject({
      rule: { id: RULE.id, cooldown: '1h' },
      asOf: '2026-11-21T09:00:00.000Z',
      before: { match: 1, act: 1, hold: 0, skip: 0 },
      added: [{ id: 'device-2', serial: 'SERIAL-2', owners: null }],
      addedTotal: 1,
    });
  });

  it('refuses an empty text, and answers what is wrong with a rule by its lines', async () => {
    const { ask } = openEndpoint({
      tryRule: async () => {
        throw new AppError('rules', 'a.yaml:3:7: unknown field\na.yaml:4:1: expected a list');
      },
    });
    expect((await ask('POST', PATH, { body: {} })).status).toBe(400);
    const answer = await ask('POST', PATH, { body: { text: 'id: x' } });
    expect(answer.status).toBe(409);
    expect(await answer.json()).toMatchObject({
      type: 'urn:trustward:problem:rules',
      detail: 'a.yaml:3:7: unknown field\na.yaml:4:1: expected a list',
    });
  });
});
