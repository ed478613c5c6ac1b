// http: whom the records name: the token, or with scope `admin` the user that its holder names.
import { expect, it } from 'vitest';
import { actorText, asPerson, onPage, personOf, tokenOf, withToken } from '../../../src/domain/actor.ts';
import { openEndpoint } from '../../support/endpoint.ts';

it.each([
  ['admin', 'ana', 'ana (token adminer)'],
  ['admin', encodeURIComponent('Аня Б'), 'Аня Б (token adminer)'],
  ['approve', 'ana', 'approveer'],
] as const)('a token of scope %s that names the user %s acts as %s', async (scope, user, by) => {
  const { ask, store } = openEndpoint();
  const headers = { 'Trustward-User': user };
  expect((await ask('POST', '/api/stop', { scope, headers, body: { reason: 'x' } })).status).toBe(200);
  expect(await store.stop()).toMatchObject({ by });
});

it.each(['', 'x'.repeat(65), 'ana (token boss)', '%00', '%E0%A4%A', '%E2%80%AEana'])(
  'a user named `%s` is refused, since it could pass for another form',
  async (user) => {
    const { ask, store } = openEndpoint();
    const headers = { 'Trustward-User': user };
    const answer = await ask('POST', '/api/stop', { headers, body: { reason: 'x' } });
    expect(answer.status).toBe(400);
    expect(await store.stop()).toBeUndefined();
  },
);

it('the places of a token are counted under its name, whoever holds it', () => {
  expect(['ana (token admin)', 'ci', 'ana (command line)'].map(tokenOf)).toEqual(['admin', 'ci', 'ana (command line)']);
});

it('a person is named by address, issuer and whatever id the provider has for them, and no other actor reads as one', () => {
  const issuer = 'https://id.example.com/realms/a';
  for (const sub of ['00u1', 'a b (c) at https://other.example.com', 'ü|%28']) {
    const person = { email: 'ana@example.com', sub, issuer };
    expect(personOf(asPerson(person))).toEqual(person);
    expect(actorText(asPerson(person))).toBe('ana@example.com');
  }
  for (const actor of [onPage('ana at https://x'), withToken('ana', 'admin'), 'ci', 'the schedule'])
    expect([personOf(actor), actorText(actor)]).toEqual([undefined, actor]);
});
