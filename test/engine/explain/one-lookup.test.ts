// test: explaining reads the one subject that is asked about, however large the fleet is.
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Api } from '../../../src/domain/ports.ts';
import { explainSubject } from '../../../src/engine/explain/judge-subject.ts';
import { banRule, startOnPlatform } from '../../support/engine-on-platform.ts';
import { startOrganization } from '../../support/organization.ts';

/** What is read of the platform for one explanation over a fleet of this size. */
async function readsOf(subject: string, devices: number) {
  const on = startOnPlatform({ rules: [banRule()] });
  for (let number = 1; number <= devices; number += 1) on.platform.addDevice(`d${number}`);
  const reads: string[] = [];
  on.platform.onRead = (what) => reads.push(what);
  const deps = { ...on.engine, reader: on.store, rules: [banRule()], isWhatIf: false };
  const answer = await explainSubject(deps, 'ban', subject).catch((error: Error) => error);
  return { reads, answer };
}

/** The API, with the name of each method that is called. */
function watched(api: Api, called: string[]): Api {
  return new Proxy(api, {
    get: (target, name) => {
      const value = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => {
        called.push(String(name));
        return value.apply(target, given);
      };
    },
  });
}

describe('explain', () => {
  it('by an unknown id reads no list, and as much of a large fleet as of a small one', async () => {
    const [few, many] = [await readsOf('nobody', 2), await readsOf('nobody', 500)];
    expect(few.answer).toMatchObject({
      code: 'not_found',
      message: 'there is no device `nobody` at http://platform.test, by serial number or by DeviceID',
    });
    expect(many.answer).toEqual(few.answer);
    expect(many.reads).toEqual(['target', 'target']);
    expect(few.reads).toEqual(many.reads);
  });

  it.each(['S-d7', 'd7'])('by a serial number or a DeviceID reads that device alone: %s', async (subject) => {
    const { reads, answer } = await readsOf(subject, 50);
    expect(answer).toMatchObject({ explanation: { subject: { id: 'd7' } } });
    expect(new Set(reads)).toEqual(new Set(['target']));
  });

  it('over the wire finds each form of a name by a lookup', async () => {
    const org = await startOrganization();
    onTestFinished(() => org.close());
    org.console.fleet.addDevice({ serial: 'LOST-1', mdm_compromised: 'TRUE' });
    const deps = org.composition.explaining();
    const called: string[] = [];
    const explained = async (subject: string) => {
      const api = watched(deps.api, called);
      const { explanation } = await explainSubject({ ...deps, api }, 'ban-compromised-device', subject);
      return explanation.subject.id;
    };
    const deviceId = await explained('LOST-1');
    expect(await explained(deviceId)).toBe(deviceId);
    await expect(explained('nobody')).rejects.toMatchObject({ code: 'not_found' });
    expect(new Set(called)).toEqual(new Set(['devicesOfSerial', 'device']));
  });
});
