// Builds what the pages of persons rest on, for whoever opens them or makes links to them. In: a store, the loaded rules, where people reach the
// pages. Out: the parts of a link, and the port behind the page.

import type { Output, Performer } from '../../contract/table.ts';
import { type Database, DEFAULT_ORGANIZATION } from '../../domain/database.ts';
import { AppError } from '../../domain/errors.ts';
import { nameKey } from '../../domain/identity.ts';
import type { PersonLinks } from '../../domain/notice.ts';
import type { PeoplePort, PersonCheck } from '../../domain/person-link.ts';
import type { Clock } from '../../domain/ports.ts';
import { ACTIONS } from '../../engine/act/actions.ts';
import type { PersonPageDeps } from '../../engine/explain/person-page.ts';
import { CHECK_EVERY_MS } from '../../engine/operate/check-again.ts';
import { askExemption } from '../../engine/operate/exemption-requests.ts';
import { type LinkParts, linkOf, openPage } from '../../engine/operate/person-links.ts';
import type { SqlStore } from '../../store/sql-store.ts';
import { newSecret } from '../system/ids.ts';

export type People = LinkParts & PersonPageDeps;

interface PeopleParts {
  store: SqlStore;
  clock: Clock;
  database: Database;
  base: string | undefined;
  /** Absent: a link is made, and no page is shown. */
  rules?: PersonPageDeps['rules'];
}

type Asks = Parameters<typeof askExemption>[0];

export function peopleOf({ store, clock, database, base, rules = () => [] }: PeopleParts): People {
  const organization = database.kind === 'postgres' ? database.organization : DEFAULT_ORGANIZATION;
  const links = store.personLinks();
  return { links, reader: store, actions: ACTIONS, rules, clock, organization, base, secret: newSecret };
}

/** For notices. */
export function personLinks(people: People): PersonLinks {
  return { of: (person, episodeId) => linkOf(people, person, episodeId) };
}

export function peoplePort(people: People, engine: Asks, performer: Performer, timeZone: string): PeoplePort {
  const lately = new Lately(engine.clock);
  return {
    timeZone,
    open: (token) => openPage(people, people, token),
    ask: (asked) => askExemption(engine, asked),
    check: async (person, id) => {
      const asked = { kind: 'device', id, owner: person } as const;
      const by = `person ${nameKey(person)}`;
      const problemOf = (rule: string) => people.rules().find((one) => one.id === rule)?.fix?.problem;
      const found = lately.once(id, person, () => performer.perform('checkSubject', asked, { by }) as Promise<Found>);
      return checkFor(problemOf, await withinPatience(found, engine.clock));
    },
  };
}

type Found = Output<'checkSubject'>;

/**
 * The platform is asked about a device once a minute. What it answered is kept with a run, and who asks again is told that; no run has a failure, or a
 * device that is gone: those are kept here.
 */
class Lately {
  private readonly asked = new Map<string, { found: Promise<Found>; endedMs: number; person: string }>();

  constructor(private readonly clock: Pick<Clock, 'monotonicMs'>) {}

  async once(device: string, person: string, ask: () => Promise<Found>): Promise<Found> {
    const since = this.clock.monotonicMs() - CHECK_EVERY_MS;
    for (const [id, { endedMs }] of this.asked) if (endedMs <= since) this.asked.delete(id);
    const before = this.asked.get(device);
    if (before) {
      const found = await before.found.catch((error: unknown) => {
        // It was not theirs: it may be of whoever asks now.
        if (before.person !== person && error instanceof AppError && error.code === 'not_found') return undefined;
        throw error;
      });
      return found?.isGone ? found : ask();
    }
    const one = { found: ask(), endedMs: Number.POSITIVE_INFINITY, person };
    this.asked.set(device, one);
    return one.found.finally(() => {
      one.endedMs = this.clock.monotonicMs();
    });
  }
}

/** Somebody waits before an empty page; what was asked for goes on. */
const PATIENCE_MS = 90_000;

async function withinPatience<T>(answer: Promise<T>, clock: Pick<Clock, 'sleep'>): Promise<T> {
  const over = new AbortController();
  const late = clock.sleep(PATIENCE_MS, over.signal).then((): never => {
    throw new AppError('busy', 'the device has not been checked yet');
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    over.abort();
  }
}

function checkFor(
  problemOf: (rule: string) => string | undefined,
  { readAt, isRepeat, isGone, rules }: Found,
): PersonCheck {
  const at = (text: string | null) => (text === null ? undefined : Date.parse(text));
  return {
    ...{ readAt: Date.parse(readAt), isRepeat, isGone },
    rules: rules.map(({ rule, title, verdict, reportedAt, endsAt, hasEnded, undos }) => ({
      ...{ title: problemOf(rule) ?? title, verdict, hasEnded, reportedAt: at(reportedAt), endsAt: at(endsAt) },
      isUndone: undos.some(({ outcome }) => outcome === 'succeeded' || outcome === 'confirmed'),
    })),
  };
}
