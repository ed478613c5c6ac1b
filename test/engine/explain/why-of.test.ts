// test: why asks about one subject by its kind and id, and answers from the store alone where the platform is not asked.
import { describe, expect, it } from 'vitest';
import type { WhyAnswer } from '../../../src/domain/why.ts';
import { whyOf, whyStored } from '../../../src/engine/explain/why.ts';
import { banRule, startOnPlatform } from '../../support/engine-on-platform.ts';

async function banned() {
  const rules = [banRule()];
  const on = startOnPlatform({ rules });
  on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
  // The serial number of this one is the id of the other.
  on.platform.addDevice('d2', { SerialNumber: 'd1' });
  await on.run();
  return { on, deps: { ...on.engine, reader: on.store, rules, isWhatIf: false } };
}

describe('why by kind and id', () => {
  it('takes the id before the same serial number of another device', async () => {
    const { deps } = await banned();
    const { subject, record } = await whyOf(deps, { kind: 'device', id: 'd1' });
    expect(subject).toMatchObject({ id: 'd1', serial: 'S-d1' });
    expect(record).toMatchObject({ DeviceID: 'd1', Banned: 'TRUE' });
    await expect(whyOf(deps, 'd1')).rejects.toMatchObject({ code: 'usage' });
  });

  it('knows what lists never showed by the decisions about it, and nothing of another kind', async () => {
    const { on, deps } = await banned();
    const reader = new Proxy(on.store, {
      get: (store, name) => {
        if (name === 'identitiesNamed') return async () => [];
        const value = Reflect.get(store, name, store) as unknown;
        return typeof value === 'function' ? value.bind(store) : value;
      },
    });
    const { subject } = await whyOf({ ...deps, reader }, { kind: 'device', id: 'd1' });
    expect(subject).toMatchObject({ kind: 'device', id: 'd1', serial: 'S-d1', name: 'device d1' });
    await expect(whyOf({ ...deps, reader }, { kind: 'user', id: 'd1' })).rejects.toMatchObject({ code: 'not_found' });
  });

  it('asks the platform nothing where only the store is asked, and has the rest', async () => {
    const { on, deps } = await banned();
    const reads: string[] = [];
    on.platform.onRead = (what) => reads.push(what);
    const why: WhyAnswer = await whyStored(deps, { kind: 'device', id: 'd1' }, 'not asked');
    expect(reads).toEqual([]);
    expect(why).toMatchObject({ unread: 'not asked', record: undefined, rules: [{ verdict: undefined }] });
    expect(why.claims).toMatchObject([{ target: 'S-d1' }]);
    expect(why.history.length).toBeGreaterThan(0);
  });

  it('shows in which plan its action waits, and not the plans of others', async () => {
    const rules = [banRule({ mode: 'approve' })];
    const on = startOnPlatform({ rules });
    for (const id of ['d1', 'd10']) on.platform.addDevice(id, { MdmData: { CompromisedStatus: 'TRUE' } });
    on.platform.addDevice('d2');
    const { plan } = await on.run();
    const deps = { ...on.engine, reader: on.store, rules, isWhatIf: false };
    expect((await whyOf(deps, 'd1')).waiting).toMatchObject([{ plan: plan?.id, target: 'S-d1' }]);
    expect((await whyOf(deps, 'd2')).waiting).toEqual([]);
  });
});
