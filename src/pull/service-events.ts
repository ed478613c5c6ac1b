// pull: the service of events that do not name one. Field notes: a service's events are known by the event's own
// fields, otherwise by the link's destination, otherwise only by asking the server for the events of a service by its
// name. In: the events just read. Out: those of them that the server counts to a service. It sends as few requests as
// possible.
import { AppError } from '../domain/errors.ts';
import type { TrustEvent } from '../domain/event.ts';
import { isFacts, ownText } from '../domain/facts.ts';
import type { Api } from '../domain/ports.ts';

const PAGE = 1_000;
const PAGES_MAX = 20;
/** Names in one request: they are part of its address. */
const NAMES_MAX = 50;

/**
 * Finds the service of each event that does not name one, by asking the server. It counts many services at once; each
 * half is asked for again only where the server counts more events than are known here. Errors: those of reading the
 * API.
 */
export async function attributeToServices(api: Api, events: TrustEvent[], fromMs: number): Promise<void> {
  const unlisted = new Map(events.filter(isUnsettled).map((event) => [event.id, event]));
  if (unlisted.size === 0) return;
  const names = await serviceNames(api);
  const listed = countsByName(events);
  for (let at = 0; at < names.length && unlisted.size > 0; at += NAMES_MAX) {
    await search({ api, fromMs, listed, unlisted }, names.slice(at, at + NAMES_MAX));
  }
}

interface Search {
  api: Api;
  fromMs: number;
  /** By service name: how many of the events name it. */
  listed: ReadonlyMap<string, number>;
  /** Events that name no service, by id. */
  unlisted: Map<string, TrustEvent>;
}

async function search(state: Search, names: readonly string[]): Promise<void> {
  const known = names.reduce((sum, name) => sum + (state.listed.get(name) ?? 0), 0);
  const counted = await state.api.countEvents({ serviceName: names.join('|'), afterMs: state.fromMs });
  if (counted <= known) return;
  const [only] = names;
  if (names.length === 1 && only !== undefined) return claimEvents(state, only);
  const half = Math.ceil(names.length / 2);
  await search(state, names.slice(0, half));
  await search(state, names.slice(half));
}

/** Reads the events of one service and sets its name in those that had none. */
async function claimEvents({ api, fromMs, unlisted }: Search, name: string): Promise<void> {
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const query = { serviceName: name, order: 'ASC' as const, afterMs: fromMs, skip: page * PAGE, limit: PAGE };
    const found = await api.events(query);
    for (const value of found) {
      const id = isFacts(value) ? ownText(value, 'id') : undefined;
      const event = id === undefined ? undefined : unlisted.get(id);
      if (event === undefined) continue;
      event.serviceName = name;
      unlisted.delete(event.id);
    }
    if (found.length < PAGE) return;
  }
}

function isUnsettled(event: TrustEvent): boolean {
  return event.serviceId === undefined && event.serviceName === undefined;
}

/** A pipe separates names in a query, so a name that contains one cannot be queried. */
async function serviceNames(api: Api): Promise<string[]> {
  const names = new Set<string>();
  try {
    for await (const batch of api.stream('services')) {
      for (const value of batch) {
        const name = isFacts(value) ? ownText(value, 'ServiceName') : undefined;
        if (name !== undefined && name !== '' && !name.includes('|')) names.add(name);
      }
    }
  } catch (error) {
    // An edition without services has no service whose events could be missing.
    if (!(error instanceof AppError && error.code === 'api_forbidden')) throw error;
  }
  return [...names];
}

/** An event's ServiceID is `name.cluster.suffix`: it gives the name even when only the id is present. */
function countsByName(events: readonly TrustEvent[]): Map<string, number> {
  const listed = new Map<string, number>();
  for (const { serviceName, serviceId } of events) {
    const name = serviceName ?? serviceId?.split('.')[0];
    if (name !== undefined) listed.set(name, (listed.get(name) ?? 0) + 1);
  }
  return listed;
}
