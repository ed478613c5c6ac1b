// pull: one source, record by record: when it is read again, how a broken reading is named, and what ends the run.
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import type { Facts } from '../../../src/domain/facts.ts';
import type { Api, Page } from '../../../src/domain/ports.ts';
import type { Sight } from '../../../src/domain/snapshot.ts';
import { type PullOptions, pullSource } from '../../../src/engine/pull/pull-source.ts';
import { TRUST_DEFAULT } from '../../../src/engine/pull/trust-gate.ts';
import { scriptedApi, stillClock } from './scripted-api.ts';

const device = (id: unknown, more: Facts = {}) => ({ DeviceID: id, SerialNumber: `S-${String(id)}`, ...more });
const fleet = (count: number) => Array.from({ length: count }, (_, index) => device(`d${index}`));
const shifted = () => new AppError('api_answer', 'the list changed', { detail: { cause: 'shifted' } });

/** One item per attempt: pages of records, or errors. */
function attempts(...script: (unknown[] | AppError)[][]): { api: Api; made: () => number } {
  let made = 0;
  async function* pages(): AsyncGenerator<Page> {
    const steps = script[Math.min(made, script.length - 1)] ?? [];
    made += 1;
    for (const step of steps) {
      if (step instanceof AppError) throw step;
      yield { records: step, total: undefined };
    }
  }
  return { api: scriptedApi({ pages, skewMs: () => 0 }), made: () => made };
}

interface Collected {
  values: Record<string, Record<string, number>>;
  sight: Sight;
  ids: unknown[];
}

/** Each attempt has its own consumer: what a broken one saw is not in the next. */
function pull(api: Api, more: Partial<PullOptions<Collected>> = {}) {
  return pullSource<Collected>({
    api,
    clock: stillClock(),
    source: 'devices',
    form: 'paged',
    baseline: undefined,
    moved: { source: 'devices', form: 'paged', before: undefined },
    isGrowthAccepted: false,
    trust: TRUST_DEFAULT,
    signal: new AbortController().signal,
    makeConsumer: () => {
      const ids: unknown[] = [];
      return {
        accept: (record) => ids.push(record.DeviceID),
        finish: () => ({ values: {}, sight: { newestMs: undefined }, ids }),
      };
    },
    ...more,
  });
}

describe('a source that was read whole', () => {
  it('is trusted and read once', async () => {
    const { api, made } = attempts([fleet(3), []]);
    const { reading, result } = await pull(api);
    expect(reading).toMatchObject({ state: 'read', form: 'paged', count: 3, trusted: true, reasons: [] });
    expect(result?.ids).toEqual(['d0', 'd1', 'd2']);
    expect(made()).toBe(1);
  });

  it('is unpaged for services in every case', async () => {
    async function* stream() {
      yield [{ ServiceID: 'a' }];
      yield [{ ServiceID: 'b' }];
    }
    const { reading } = await pull(scriptedApi({ stream }), { source: 'services' });
    expect(reading).toMatchObject({ source: 'services', count: 2, trusted: true });
  });

  it('that shrank is not read again: it is whole, but not trusted', async () => {
    const { api, made } = attempts([fleet(30)]);
    const baseline = { source: 'devices' as const, takenAt: 0, count: 100, values: {} };
    expect((await pull(api, { baseline })).reading.reasons).toMatchObject([{ code: 'shrunk' }]);
    expect(made()).toBe(1);
  });
});

describe('a source that is read again once', () => {
  it.each([
    ['it shifted between two pages', [fleet(2), shifted()]],
    ['it broke in the middle', [fleet(2), new AppError('api_unreachable', 'the connection broke')]],
    ['a key came twice', [[...fleet(2), device('d0')]]],
    ['not one record came', [new AppError('api_answer', 'garbage')]],
  ])('after %s is whole in the second reading', async (_, first) => {
    const { api, made } = attempts(first, [fleet(4)]);
    const { reading, result } = await pull(api);
    expect(reading).toMatchObject({ state: 'read', count: 4, trusted: true });
    expect(result?.ids).toHaveLength(4);
    expect(made()).toBe(2);
  });

  it('and shifts every time is not trusted, and not read a third time', async () => {
    const { api, made } = attempts([fleet(2), shifted()]);
    const { reading } = await pull(api);
    expect(reading).toMatchObject({ trusted: false, state: 'read', reasons: [{ code: 'shifted' }] });
    expect(made()).toBe(2);
  });

  it('and breaks every time reports how far it came', async () => {
    const { reading } = await pull(attempts([fleet(2), new AppError('api_answer', 'it ended too early')]).api);
    expect(reading.reasons).toEqual([
      { source: 'devices', code: 'incomplete', text: 'devices: after 2 records: it ended too early' },
    ]);
  });

  it('counts a repeated key once, without judging the second record', async () => {
    const { reading, result } = await pull(attempts([[...fleet(3), device('d1')]]).api);
    expect(result?.ids).toEqual(['d0', 'd1', 'd2']);
    expect(reading).toMatchObject({ count: 3, trusted: false, reasons: [{ code: 'repeated_key' }] });
  });
});

describe('a source that cannot be read at all', () => {
  it('with status 403 is unavailable, and requested once', async () => {
    const { api, made } = attempts([new AppError('api_forbidden', 'not in this edition')]);
    const { reading, result } = await pull(api);
    expect(reading).toMatchObject({ state: 'unavailable', trusted: false, reasons: [{ code: 'unavailable' }] });
    expect(result).toBeUndefined();
    expect(made()).toBe(1);
  });
  it('for any other reason is a failed source', async () => {
    const { reading } = await pull(attempts([new AppError('api_unreachable', 'no connection')]).api);
    expect(reading).toMatchObject({ state: 'failed', trusted: false });
    expect(reading.reasons[0]?.text).toBe('devices: no connection');
  });
  it.each(['api_refused', 'stopped'] as const)('`%s` ends the run at once, also in the middle', async (code) => {
    const { api, made } = attempts([fleet(1), new AppError(code, 'over')]);
    await expect(pull(api)).rejects.toMatchObject({ code });
    expect(made()).toBe(1);
  });
  it('stops at the current page when the process ends', async () => {
    const stopping = new AbortController();
    stopping.abort();
    await expect(pull(attempts([fleet(1)]).api, { signal: stopping.signal })).rejects.toMatchObject({
      code: 'stopped',
    });
  });
});

describe('records that cannot be read', () => {
  it('are counted and named by position, and the others are judged', async () => {
    const bad = [null, 'text', [1], device(7), device(''), { DeviceID: 'x' }, device('y', { SerialNumber: 5 })];
    const { reading, result } = await pull(
      attempts([[device('ok'), ...bad, device('empty', { SerialNumber: '' })]]).api,
    );
    expect(result?.ids).toEqual(['ok', 'empty']);
    expect(reading.unreadable).toEqual({
      count: 7,
      examples: [
        'record 2: not an object but null',
        'record 3: not an object but a string',
        'record 4: not an object but a list',
        'record 5: DeviceID is a number, not text',
        'record 6: DeviceID is empty',
        'record 7: SerialNumber is missing (DeviceID x)',
        'record 8: SerialNumber is a number, not text (DeviceID y)',
      ],
    });
    expect(reading.reasons).toMatchObject([{ code: 'unreadable_records' }]);
  });

  it('include those with an inherited key', async () => {
    const { reading } = await pull(attempts([[Object.create({ DeviceID: 'd', SerialNumber: 's' })]]).api);
    expect(reading.unreadable.examples).toEqual(['record 1: DeviceID is missing']);
  });

  it('are tolerated when 1 of 100, and at most a hundred are named', async () => {
    expect((await pull(attempts([[...fleet(99), null]]).api)).reading).toMatchObject({ trusted: true });
    const { reading } = await pull(attempts([Array(150).fill(null)]).api);
    expect(reading.unreadable.count).toBe(150);
    expect(reading.unreadable.examples).toHaveLength(100);
  });
});
