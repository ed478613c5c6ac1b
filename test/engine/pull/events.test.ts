// pull: the event log: where reading begins and ends, what counts once, to whom an event belongs, and what later runs have of it.
import { afterEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import type { TrustEvent } from '../../../src/domain/event.ts';
import type { Api, EventQuery } from '../../../src/domain/ports.ts';
import type { Coverage } from '../../../src/domain/snapshot.ts';
import {
  attributeToServices,
  EVENT_PULL_DEFAULT,
  type EventPullOptions,
  pullEvents,
  readEvent,
  startOf,
} from '../../../src/engine/pull/pull-events.ts';
import { TRUST_DEFAULT } from '../../../src/engine/pull/trust-gate.ts';
import { buildReport } from '../../../src/faces/report/build-report.ts';
import {
  BAN_BY_PAGES,
  BAN_COMPROMISED,
  DISABLE_FAILING,
  type Organization,
  startOrganization,
} from '../../support/organization.ts';
import { reportText } from '../../support/readable.ts';
import { scriptedApi, scriptedLog, stillClock } from './scripted-api.ts';

const NOW = 1_800_000_000_000;
const MINUTE = 60_000;
const WINDOW = 60 * MINUTE;

function optionsOf(api: EventPullOptions['api'], more: Partial<EventPullOptions> = {}): EventPullOptions {
  const clock = stillClock(NOW);
  const common = {
    api,
    clock,
    nowMs: NOW,
    windowMs: WINDOW,
    triedMs: 0,
    asksForServices: false,
    known: [] as Coverage[],
    trust: TRUST_DEFAULT,
  };
  return { ...common, settings: EVENT_PULL_DEFAULT, ...more };
}

const at = (id: string, createdAt: unknown) => ({ id, created_at: createdAt, type: 'Access', severity: 'ERROR' });
const many = (count: number, timeOf: (index: number) => number, name = 'e') =>
  Array.from({ length: count }, (_, index) => at(`${name}-${index}`, timeOf(index)));
/** An event before the window: the log reaches back, nothing was cut off. */
const OLD = at('old', NOW - 2 * WINDOW);

describe('where reading begins', () => {
  const known = [{ fromMs: NOW - 3 * WINDOW, toMs: NOW - MINUTE }];
  const start = (more: Partial<EventPullOptions>) => startOf(optionsOf(scriptedApi({}), { known, ...more }));

  it('is the start of the longest window at first', () => {
    expect(start({ known: [] })).toBe(NOW - WINDOW);
  });
  it('is then the end of the last read, minus the overlap for events written late', () => {
    expect(start({})).toBe(NOW - MINUTE - EVENT_PULL_DEFAULT.overlapMs);
  });
  it('is never before the window, even with a longer overlap', () => {
    expect(start({ windowMs: 2 * MINUTE })).toBe(NOW - 2 * MINUTE);
  });
  it('is the start of the window when the last read ended before it', () => {
    expect(start({ known: [{ fromMs: 0, toMs: NOW - 2 * WINDOW }] })).toBe(NOW - WINDOW);
  });
  it('is the start of a window that a changed rule made longer, once', () => {
    const short = [{ fromMs: NOW - 10 * MINUTE, toMs: NOW - MINUTE }];
    expect(start({ known: short, triedMs: 10 * MINUTE })).toBe(NOW - WINDOW);
    expect(start({ known: short, triedMs: WINDOW })).toBe(NOW - MINUTE - EVENT_PULL_DEFAULT.overlapMs);
  });
  it('is the start of the window when the clock went back behind the last read', () => {
    expect(start({ known: [{ fromMs: 0, toMs: NOW + WINDOW }] })).toBe(NOW - WINDOW);
  });
});

describe('what is read', () => {
  it('includes an event exactly at the bound, and none before it', async () => {
    const { events } = await pullEvents(
      optionsOf(scriptedLog([OLD, at('bound', NOW - WINDOW), at('before', NOW - WINDOW - 1)])),
    );
    expect(events.map(({ id }) => id)).toEqual(['bound']);
  });

  it('has each of 2,500 events over three pages once, although the inclusive bound repeats the last of a page', async () => {
    const api = scriptedLog([OLD, ...many(2_500, (index) => NOW - WINDOW + index)]);
    const { events, reading } = await pullEvents(optionsOf(api));
    expect(new Set(events.map(({ id }) => id)).size).toBe(2_500);
    expect(events).toHaveLength(2_500);
    expect(reading).toMatchObject({ count: 2_500, trusted: true, state: 'read' });
  });

  it.each([
    ['exactly a page', 1_000],
    ['more than a page', 1_500],
    ['more than three pages', 3_200],
  ])('loses none of %s of events in one millisecond', async (_, count) => {
    const log = [OLD, ...many(3, (index) => NOW - 5_000 + index, 'a'), ...many(count, () => NOW - 1_000, 'b')];
    const { events } = await pullEvents(optionsOf(scriptedLog([...log, at('last', NOW - 10)])));
    expect(events).toHaveLength(count + 4);
    expect(events.at(-1)?.id).toBe('last');
  });

  it('loses none of 1,500 events in the first millisecond of a window', async () => {
    const log = [OLD, ...many(1_500, () => NOW - 1_000), at('last', NOW - 10)];
    expect((await pullEvents(optionsOf(scriptedLog(log)))).events).toHaveLength(1_501);
  });

  it('is complete from a server that returns 100 at a time, even within one millisecond', async () => {
    const log = [OLD, ...many(250, () => NOW - 1_000, 'same'), ...many(250, (index) => NOW - 900 + index, 'next')];
    const { events } = await pullEvents(optionsOf(scriptedLog(log, { pageMax: 100 })));
    expect(events).toHaveLength(500);
  });

  it('is complete from a server that ignores `after`, without events that are too old', async () => {
    const log = [...many(1_500, (index) => NOW - 3 * WINDOW + index, 'old'), ...many(20, (index) => NOW - 500 + index)];
    const { events } = await pullEvents(optionsOf(scriptedLog(log, { ignores: 'after' })));
    expect(events).toHaveLength(20);
  });

  it('ends on a server that ignores `skip`', async () => {
    const api = scriptedLog([OLD, ...many(5, () => NOW - 500)], { ignores: 'skip' });
    expect((await pullEvents(optionsOf(api))).events).toHaveLength(5);
    expect(api.asked.length).toBeLessThan(10);
  });

  it('counts an event with a repeated id once', async () => {
    const twice = [at('same', NOW - 400), at('same', NOW - 300), OLD];
    expect((await pullEvents(optionsOf(scriptedLog(twice)))).events).toHaveLength(1);
  });

  it('includes an event written late, within the overlap', async () => {
    const known = [{ fromMs: NOW - 2 * WINDOW, toMs: NOW - MINUTE }];
    const late = at('late', NOW - 3 * MINUTE);
    const { events } = await pullEvents(optionsOf(scriptedLog([OLD, late]), { known }));
    expect(events.map(({ id }) => id)).toEqual(['late']);
  });

  it('of which a server gives more than was asked for ends at the same number', async () => {
    let pages = 0;
    const events = async () => many(5_000, (index) => NOW - WINDOW + pages * 5_000 + index, `page-${++pages}`);
    const settings = { ...EVENT_PULL_DEFAULT, pagesMax: 8 };
    const { reading } = await pullEvents(optionsOf(scriptedApi({ events, countEvents: async () => 1 }), { settings }));
    expect(reading.reasons[0]?.text).toContain('more than 8000 events');
    expect(pages).toBe(2);
  });

  it('ends at two hundred pages, and nothing counts as known', async () => {
    const settings = { ...EVENT_PULL_DEFAULT, pagesMax: 2 };
    const log = many(3_000, (index) => NOW - WINDOW + index);
    const { reading, coverage } = await pullEvents(optionsOf(scriptedLog(log), { settings }));
    expect(coverage).toBeUndefined();
    expect(reading).toMatchObject({ state: 'failed', trusted: false, reasons: [{ code: 'incomplete' }] });
    expect(reading.reasons[0]?.text).toContain('more than 2000 events');
  });
});

describe('events that cannot be read', () => {
  it('are named, once each, and up to 1 % of them are tolerated', async () => {
    const log = [OLD, ...many(199, (index) => NOW - WINDOW + index), at('odd', 'yesterday'), { created_at: NOW - 1 }];
    const { events, reading } = await pullEvents(optionsOf(scriptedLog(log)));
    expect(events).toHaveLength(199);
    expect(reading.unreadable).toEqual({
      count: 2,
      examples: ['id is missing or not text', 'created_at is not a number of milliseconds (event odd)'],
    });
    expect(reading.trusted).toBe(true);
  });

  it('make the log untrusted above 1 %', async () => {
    const log = [OLD, ...many(100, (index) => NOW - WINDOW + index), at('odd-1', null), at('odd-2', {})];
    const { reading } = await pullEvents(optionsOf(scriptedLog(log)));
    expect(reading).toMatchObject({ trusted: false, reasons: [{ code: 'unreadable_records' }] });
  });
});

describe('what is known afterwards', () => {
  const coverageOf = async (api: EventPullOptions['api'], more: Partial<EventPullOptions> = {}) =>
    (await pullEvents(optionsOf(api, more))).coverage;

  it('is the whole window when the log reaches back behind it', async () => {
    expect(await coverageOf(scriptedLog([OLD]))).toEqual({ fromMs: NOW - WINDOW, toMs: NOW });
  });
  it('is the whole window when the log is young and nothing was cut off', async () => {
    expect(await coverageOf(scriptedLog([at('first', NOW - 5)]))).toEqual({ fromMs: NOW - WINDOW, toMs: NOW });
    expect(await coverageOf(scriptedLog([]))).toEqual({ fromMs: NOW - WINDOW, toMs: NOW });
  });
  it('begins at the oldest event when 10,000 are kept and it is younger than the window', async () => {
    const api = scriptedLog([at('oldest', NOW - 5_000), at('newest', NOW - 10)], { count: 10_001 });
    expect(await coverageOf(api)).toEqual({ fromMs: NOW - 5_000, toMs: NOW });
  });
  it('is at most two weeks, whatever the window', async () => {
    const coverage = await coverageOf(scriptedLog([at('young', NOW - 5)]), { windowMs: 30 * 24 * WINDOW });
    expect(coverage).toEqual({ fromMs: NOW - EVENT_PULL_DEFAULT.retainedMs, toMs: NOW });
  });
});

describe('a log that is not reliable', () => {
  const failing = (error: AppError) => optionsOf(scriptedApi({ events: () => Promise.reject(error) }));

  it('in descending order is not used, and nothing counts as known', async () => {
    const { reading, events, coverage } = await pullEvents(
      optionsOf(
        scriptedLog(
          many(5, (index) => NOW - 500 + index),
          { ignores: 'order' },
        ),
      ),
    );
    expect({ events, coverage }).toEqual({ events: [], coverage: undefined });
    expect(reading).toMatchObject({ trusted: false, reasons: [{ code: 'shifted' }] });
  });
  it('with status 403 is an edition without events', async () => {
    const { reading } = await pullEvents(failing(new AppError('api_forbidden', 'not in this edition')));
    expect(reading).toMatchObject({ state: 'unavailable', trusted: false, reasons: [{ code: 'unavailable' }] });
  });
  it('with a broken answer is a failed source, with the API’s message', async () => {
    const { reading } = await pullEvents(failing(new AppError('api_answer', 'the answer is not JSON')));
    expect(reading.reasons).toEqual([{ source: 'events', code: 'incomplete', text: 'events: the answer is not JSON' }]);
    expect(reading.state).toBe('failed');
  });
  it.each(['api_refused', 'stopped'] as const)('`%s` ends the run', async (code) => {
    await expect(pullEvents(failing(new AppError(code, 'over')))).rejects.toMatchObject({ code });
  });
  it('with a clock difference over five minutes is not trusted', async () => {
    const api = Object.assign(scriptedLog([OLD]), { skewMs: () => -301_000 });
    expect((await pullEvents(optionsOf(api))).reading.reasons[0]).toMatchObject({ code: 'clock_skew' });
  });
});

describe('events over whole runs of the real engine', () => {
  const OTHER = DISABLE_FAILING.replace('disable-failing-service', 'other-rule').replace('}, 5]', '}, 50]');

  let org: Organization;
  afterEach(() => org.close());

  function errorsOf(serviceId: string, count: number): void {
    for (let index = 0; index < count; index += 1)
      org.console.fleet.addEvent({
        type: 'Access',
        subType: 'Resource',
        action: 'Unauthorized',
        severity: 'ERROR',
        serviceId,
      });
  }

  describe('events that a run over chosen rules has read', () => {
    it('count in the next run over all rules, although the log is not read that far back again', async () => {
      const rules = { ban: BAN_COMPROMISED, service: DISABLE_FAILING, other: OTHER };
      org = await startOrganization({ devices: 20, rules, env: { TRUSTWARD_EVENT_OVERLAP: '0s' } });
      const serviceId = org.console.fleet.addService('payroll', 'eu-1');
      await org.run('dry-run');
      errorsOf(serviceId, 5);
      await org.run('dry-run', ['other-rule']);
      const { of } = await org.run('dry-run');
      expect(of('hold').map(({ rule, target }) => [rule, target])).toEqual([['disable-failing-service', serviceId]]);
    });
  });

  describe('a log that grows while the engine is down', () => {
    it('counts events from before and after a restart together, each once', async () => {
      org = await startOrganization({ devices: 20, rules: { service: DISABLE_FAILING } });
      const serviceId = org.console.fleet.addService('payroll', 'eu-1');
      errorsOf(serviceId, 3);
      expect((await org.run('dry-run')).of('hold')).toEqual([]);
      await org.restart();
      expect((await org.run('dry-run')).of('hold')).toEqual([]);
      errorsOf(serviceId, 2);
      const { of } = await org.run('dry-run');
      expect(Object.values(of('hold')[0]?.facts ?? {})).toContain(5);
    });
  });

  describe('an edition without events and services', () => {
    it('makes the rules that read them unknown, and devices are still judged', async () => {
      org = await startOrganization({
        devices: 20,
        compromised: 0,
        rules: { ban: BAN_COMPROMISED, service: DISABLE_FAILING },
      });
      org.console.fleet.addDevice({ serial: 'BASIC-1', mdm_compromised: 'TRUE' });
      const forbidden = { kind: 'error' as const, status: 403 };
      org.console.faults?.set([
        { ...forbidden, match: { path: '/api/v1/events' } },
        { ...forbidden, match: { path: '/api/v1/registered_services' } },
      ]);
      const { run, of } = await org.run('enforce');
      expect(run.findings?.snapshot.sources).toMatchObject({
        events: { state: 'unavailable' },
        services: { state: 'unavailable' },
        devices: { state: 'read', trusted: true },
      });
      expect(of('act').map(({ target, outcome }) => [target, outcome])).toEqual([['BASIC-1', 'succeeded']]);
    });
  });

  describe('a console that fails while devices are read', () => {
    const DEVICES = '/api/v1/devices';
    async function runWith(fault: object, ban = BAN_BY_PAGES) {
      org = await startOrganization({ devices: 2_500, compromised: 0, rules: { ban } });
      org.console.fleet.addDevice({ serial: 'FAULT-1', mdm_compromised: 'TRUE' });
      org.console.faults?.set([{ match: { path: DEVICES }, ...fault } as never]);
      return org.run('enforce');
    }

    it('is read again after one shift, and the run acts', async () => {
      const { run, of } = await runWith({ kind: 'shift_pages', by: 1, skip: 1, times: 1 });
      expect(run.findings?.snapshot.sources.devices).toMatchObject({ trusted: true, count: 2_501 });
      expect(of('act')).toHaveLength(1);
    });

    it('makes the run do nothing when pages shift every time, with the reason in the report', async () => {
      const { run, of } = await runWith({ kind: 'shift_pages', by: 3 });
      expect(run.findings?.snapshot.sources.devices).toMatchObject({ trusted: false, reasons: [{ code: 'shifted' }] });
      expect(of('act')).toEqual([]);
      expect(org.console.writes()).toEqual([]);
    });

    it('aborts the run when every answer is cut off', async () => {
      await expect(runWith({ kind: 'truncated', how: 'json' })).rejects.toMatchObject({
        code: expect.stringMatching(/^api_/),
      });
      expect((await org.composition.engine.store.latestRun())?.status).toBe('aborted');
      expect(org.console.writes()).toEqual([]);
    });

    it('makes the run do nothing when every whole list is cut off, with the reason in the report', async () => {
      const { run, of } = await runWith({ kind: 'truncated', how: 'json' }, BAN_COMPROMISED);
      expect(run.findings?.snapshot.sources.devices).toMatchObject({
        trusted: false,
        reasons: [{ code: 'incomplete' }],
      });
      expect(of('act')).toEqual([]);
      expect(org.console.writes()).toEqual([]);
    });

    it('ends the run without an action on a 401 in the middle', async () => {
      await expect(runWith({ kind: 'unauthorized', skip: 2 })).rejects.toMatchObject({ code: 'api_refused' });
      expect(org.console.writes()).toEqual([]);
    });
  });

  describe('records that cannot be read', () => {
    /** A fleet of 150, as pages: the whole, the last record again, and nothing past the end. */
    function serve(devices: object[]): void {
      const page = (records: object[]) => JSON.stringify({ devices: records, count: devices.length });
      const garbage = (query: string, records: object[]) =>
        ({
          kind: 'garbage',
          match: { path: `^/api/v1/devices\\?.*[Ss]kip=${query}(&|$)` },
          body: page(records),
        }) as const;
      org.console.faults?.set([garbage('0', devices), garbage('149', devices.slice(149)), garbage('150', [])]);
    }
    const fleet = Array.from({ length: 150 }, (_, index) => ({
      DeviceID: `d${index}`,
      SerialNumber: `S${index}`,
      MdmData: { CompromisedStatus: index === 7 ? 'TRUE' : 'FALSE' },
    }));

    it('are named in the report when 1 of 150, and the others are judged', async () => {
      org = await startOrganization({ devices: 20, rules: { ban: BAN_BY_PAGES } });
      serve([...fleet.slice(0, 3), { SerialNumber: 'no id' }, ...fleet.slice(4)]);
      const { run, of } = await org.run('dry-run');
      expect(of('act').map(({ subject }) => subject.id)).toEqual(['d7']);
      const { store } = org.composition.engine;
      expect(reportText(await buildReport(store, run))).toContain('1 unreadable record (record 4: DeviceID is');
    });

    it('prevent every action when 2 of 150, with the reason in the report', async () => {
      org = await startOrganization({ devices: 20, rules: { ban: BAN_BY_PAGES } });
      serve([{}, {}, ...fleet.slice(2)]);
      const { run, of } = await org.run('enforce');
      expect(of('act')).toEqual([]);
      expect(of('skip', 'untrusted_source').map(({ subject }) => subject.id)).toEqual(['d7']);
      expect(run.findings?.snapshot.sources.devices.reasons).toMatchObject([{ code: 'unreadable_records' }]);
    });
  });
});

const raw = (id: string, service?: object) => ({
  id,
  created_at: 1_000,
  severity: 'ERROR',
  type: 'Access',
  ...service,
});

function events(...values: object[]): TrustEvent[] {
  return values.flatMap((value) => {
    const read = readEvent(value, new Set());
    return read.ok ? [read.event] : [];
  });
}

/** A server of these services that knows each event's service, whether the event names it or not. */
function server(
  names: string[],
  owner: Record<string, string>,
): { api: Api; asked: EventQuery[]; listed: EventQuery[] } {
  const asked: EventQuery[] = [];
  const listed: EventQuery[] = [];
  const idsOf = ({ serviceName }: EventQuery) =>
    Object.keys(owner).filter((id) => serviceName?.split('|').includes(owner[id] as string));
  const api = scriptedApi({
    stream: async function* () {
      yield names.map((ServiceName) => ({ ServiceID: `${ServiceName}.eu.x`, ServiceName }));
    },
    countEvents: async (query) => {
      asked.push(query);
      return idsOf(query).length;
    },
    events: async (query) => {
      listed.push(query);
      return idsOf(query)
        .slice(query.skip ?? 0)
        .map((id) => raw(id));
    },
  });
  return { api, asked, listed };
}

const NAMES = Array.from({ length: 40 }, (_, index) => `service-${index}`);

describe('events that do not name their service', () => {
  it('get the service that the server counts them to', async () => {
    const read = events(raw('a'), raw('b'), raw('c'));
    const { api, asked } = server(NAMES, { a: 'service-7', c: 'service-31' });
    await attributeToServices(api, read, 500);
    expect(read.map((event) => event.serviceName)).toEqual(['service-7', undefined, 'service-31']);
    expect(asked.length).toBeLessThan(NAMES.length);
    expect(asked.every((query) => query.afterMs === 500)).toBe(true);
  });

  it('cost one count when the server counts no more than the events name', async () => {
    const read = events(raw('a', { service: { name: 'service-3', id: 'service-3.eu.x' } }), raw('b'));
    const { api, asked, listed } = server(NAMES, { a: 'service-3' });
    await attributeToServices(api, read, 500);
    expect([asked.length, listed.length]).toEqual([1, 0]);
    expect(read[1]?.serviceName).toBeUndefined();
  });

  it('cost nothing when every event names its service', async () => {
    const read = events(
      raw('a', { service: { name: 'service-3' } }),
      raw('b', { link: { destination: { service_name: 'service-4' } } }),
    );
    const { api, asked } = server(NAMES, { a: 'service-3', b: 'service-4' });
    await attributeToServices(api, read, 500);
    expect(asked).toEqual([]);
  });
});
