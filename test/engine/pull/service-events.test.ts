// pull: an event that names no service, but which the server counts to one.
import { describe, expect, it } from 'vitest';
import type { TrustEvent } from '../../../src/domain/event.ts';
import type { Api, EventQuery } from '../../../src/domain/ports.ts';
import { attributeToServices, readEvent } from '../../../src/engine/pull/pull-events.ts';
import { scriptedApi } from './scripted-api.ts';

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
