// test: a change that the tables' own rules refuse reaches a person as a sentence, and changes nothing.
import { describe, expect, it } from 'vitest';
import { addExemption } from '../../src/engine/operate/commands.ts';
import { addToken } from '../../src/engine/operate/endpoint-tokens.ts';
import { bodyOf, openEndpoint } from '../support/endpoint.ts';
import { countingIds } from '../support/engine-on-platform.ts';
import { commitOf, episode, intent, openStore, plan, run } from '../support/stored-nouns.ts';

/** The error of work that must fail, in words fit for a person. */
async function refusalOf(work: Promise<unknown>): Promise<{ code: string; message: string }> {
  const error = await work.then(
    () => undefined,
    (reason: { code: string; message: string }) => reason,
  );
  expect(error?.message).not.toMatch(/constraint failed|\n/i);
  return error as { code: string; message: string };
}

async function storeWithRun() {
  const opened = openStore();
  await opened.store.beginRun(run, []);
  await opened.store.commitRun(commitOf({ episodes: [{ ...episode, state: 'matching' }], plan }));
  return opened;
}

describe('a collision that requests can cause', () => {
  it('of two tokens of one name made at once leaves one token, and names the way out', async () => {
    const { ask, store } = openEndpoint();
    const body = { name: 'ci', scope: 'read' };
    const answers = await Promise.all([
      ask('POST', '/api/tokens', { body }),
      ask('POST', '/api/tokens', { body }),
      ask('POST', '/api/tokens', { body }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
    const refused = answers.find(({ status }) => status === 409) as Response;
    expect(await bodyOf<{ detail: string }>(Promise.resolve(refused))).toMatchObject({
      detail: 'there is a token of this name already: revoke it first, or choose another name',
    });
    expect(await store.endpointTokens()).toHaveLength(1);
    expect((await store.audit({ kind: 'token.added', limit: 9 })).length).toBe(1);
  });

  it('of two tokens made by two commands is the same', async () => {
    const { store, clock } = openStore();
    const ids = countingIds();
    const parts = { tokens: store.tokens(), clock, ids, secret: () => 'tw_0123456789' };
    const add = () => addToken(parts, { name: 'ci', scope: 'read' }, 'ana');
    const [first, second] = [add(), add()];
    await first;
    expect((await refusalOf(second)).code).toBe('conflict');
    expect((await refusalOf(add())).message).toContain('there is a token `ci` already');
  });

  it('of one action planned twice for one target and episode names both, and what to look at', async () => {
    const { store } = await storeWithRun();
    await store.changePlan({ ...plan, status: 'applying' }, [intent], []);
    const before = await store.auditHead();
    const again = store.changePlan({ ...plan, id: 'p2' }, [{ ...intent, id: 'i2' }], [{ kind: 'notice', body: {} }]);
    expect(await refusalOf(again)).toMatchObject({
      code: 'conflict',
      message:
        'the same action is planned, under way or done for this target and episode already: nothing was changed; see `trustward intents list`',
    });
    expect(await store.plan('p2')).toBeUndefined();
    expect(await store.auditHead()).toEqual(before);
  });

  it('does not exist between two equal exemptions: both are in force', async () => {
    const { store, clock } = openStore();
    const ids = countingIds();
    const request = { subject: { kind: 'device', id: 'd1' }, unseen: true, owner: 'ana', reason: 'lab', until: '1d' };
    const add = () => addExemption({ store, clock, ids }, request, 'ana');
    await Promise.all([add(), add()]);
    expect(await store.exemptions(clock.nowMs())).toHaveLength(2);
  });
});

describe('a change that no request should cause', () => {
  it('is refused in words: which table, and that nothing was changed', async () => {
    const { store } = await storeWithRun();
    const second = store.release({ intent: undefined, claims: [], episodes: [{ ...episode, id: 'e2' }], notes: [] });
    expect(await refusalOf(second)).toMatchObject({
      code: 'store_failed',
      message:
        'database `:memory:` (SQLITE_CONSTRAINT_UNIQUE): it refused a change of table `episodes` that breaks its rules; nothing was changed: check it with `trustward doctor`',
    });
  });

  it.each([
    [
      'of a missing row',
      "INSERT INTO rejected_intents (key, episode_id, plan_id) VALUES ('k', 'none', 'p')",
      'FOREIGNKEY',
    ],
    ['of a value that is not allowed', 'UPDATE plans SET status = NULL', 'NOTNULL'],
    ['of a state that does not exist', "UPDATE episodes SET state = 'lost'", 'CHECK'],
    ['of an audit entry', 'DELETE FROM audit', 'TRIGGER'],
  ])('is refused in words: %s', async (_, sql, kind) => {
    const { db, store } = await storeWithRun();
    await store.appendAudit([{ kind: 'notice', body: {} }]);
    const table = /(?:INTO|UPDATE|FROM) (\w+)/.exec(sql)?.[1];
    const error = await refusalOf((async () => db.run(sql))());
    expect(error.message).toContain(`(SQLITE_CONSTRAINT_${kind}): it refused a change of table \`${table}\``);
    expect(error.code).toBe('store_failed');
  });
});
