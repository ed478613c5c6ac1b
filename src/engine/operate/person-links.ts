// operate: links to a person's own page: made for a notice or by an operator, opened by who has one, refused by an operator. In: who, and the match
// that it is about. Out: an address, or the page that it opens. INVARIANT: what opens nothing is one answer after the same reads, whatever it lacks.

import type { AuditNote } from '../../domain/audit-entry.ts';
import type { Episode } from '../../domain/episode.ts';
import { AppError } from '../../domain/errors.ts';
import { nameKey } from '../../domain/identity.ts';
import { mailboxFault } from '../../domain/notice.ts';
import {
  EVERYBODY,
  openLink,
  PEOPLE_PATH,
  type PersonLink,
  type PersonLinkStore,
  type PersonPage,
  sealLink,
} from '../../domain/person-link.ts';
import type { Clock } from '../../domain/ports.ts';
import { openMatches, type PersonPageDeps, personPage } from '../explain/person-page.ts';
import { filled } from './commands.ts';

export interface LinkParts {
  links: PersonLinkStore;
  clock: Pick<Clock, 'nowMs'>;
  /** 256 random bits as text. */
  secret(): string;
  organization: string;
  /** What addresses begin with, before `/mine`; undefined: nobody could open one. */
  base: string | undefined;
}

const NONCE_BYTES = 12;

/** The whole address, with the link: whoever has it opens the page, and it is never logged or audited. Undefined: there is no base. */
export async function linkOf(parts: LinkParts, person: string, episodeId: string): Promise<string | undefined> {
  return sealed(parts, person, episodeId, []);
}

async function sealed(
  { links, clock, secret, organization, base }: LinkParts,
  person: string,
  episodeId: string,
  notes: AuditNote[],
): Promise<string | undefined> {
  if (base === undefined) return undefined;
  const key = notes.length === 0 ? await links.secret() : undefined;
  // A clock that was set back makes no link that is refused at once.
  const madeAt = Math.max(clock.nowMs(), (await links.refusedBefore(person)) ?? 0);
  const nonce = Buffer.from(secret(), 'base64url').subarray(0, NONCE_BYTES);
  const link = { person: nameKey(person), episodeId, madeAt };
  const token = sealLink(key ?? (await links.keepSecret(secret(), notes)), organization, link, nonce);
  return `${base}${PEOPLE_PATH}/${token}`;
}

/** Links of nobody: their reads find nothing. */
const NOBODY: PersonLink = { person: '', episodeId: '', madeAt: 0 };

/** Undefined: it is not ours, was refused, or what it is about is over. */
export async function openPage(
  { links, organization }: Pick<LinkParts, 'links' | 'organization'>,
  deps: PersonPageDeps,
  token: string,
): Promise<PersonPage | undefined> {
  const key = await links.secret();
  const link = (key === undefined ? undefined : openLink(key, organization, token)) ?? NOBODY;
  const refused = link.madeAt < ((await links.refusedBefore(link.person)) ?? 0);
  return personPage(deps, refused ? NOBODY : link);
}

/**
 * For the service desk: about the newest match of the person's devices. Errors: AppError `config` without a public address, `usage` for what is no
 * address, `not_found` when nothing of them is open.
 */
export async function makeLink(
  parts: LinkParts,
  deps: PersonPageDeps,
  person: string,
  by: string,
): Promise<{ url: string; episode: Episode }> {
  const email = addressOf(person);
  if (parts.base === undefined) throw noBase();
  const [episode] = await openMatches(deps, email);
  if (!episode)
    throw new AppError(
      'not_found',
      `no rule holds or proposes anything about a device of \`${email}\` now: there is nothing to show`,
    );
  const note = {
    kind: 'person_link.made',
    body: { person: email, episode: episode.id, rule: episode.rule, by },
  } as const;
  const url = await sealed(parts, email, episode.id, [note]);
  if (url === undefined) throw noBase();
  return { url, episode };
}

function noBase(): AppError {
  return new AppError(
    'config',
    'nobody could open a link: set TRUSTWARD_PEOPLE_URL or TRUSTWARD_PUBLIC_URL to the address under which people reach this Trustward',
  );
}

/**
 * From now on every link of this person that was made before is refused; of `everybody`, by another secret, so that also who copied the database makes none.
 * Errors: AppError `usage`.
 */
export async function refuseLinks(
  { links, clock, secret }: Pick<LinkParts, 'links' | 'clock' | 'secret'>,
  person: string,
  reason: string,
  by: string,
): Promise<{ person: string; before: number }> {
  const isAll = nameKey(person) === EVERYBODY;
  const whose = isAll ? EVERYBODY : addressOf(person);
  // One made in this millisecond is refused, too.
  const before = Math.max(clock.nowMs(), (await links.refusedBefore(whose)) ?? 0) + 1;
  const body = { person: whose, before, reason: filled(reason, 'reason', 'say why'), by };
  const notes: AuditNote[] = [{ kind: 'person_link.revoked', body }];
  await (isAll ? links.renewSecret(secret(), notes) : links.refuse({ person: whose, before }, notes));
  return { person: whose, before };
}

function addressOf(person: string): string {
  const email = nameKey(person);
  if (mailboxFault(email) === undefined) return email;
  throw new AppError(
    'usage',
    `\`${person}\` is no e-mail address: name the person by the address of an owner, such as \`ana@example.com\``,
  );
}
