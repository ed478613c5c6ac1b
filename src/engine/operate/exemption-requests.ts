// operate: a person asks for an exemption of a device of theirs; an operator grants it, as asked for or otherwise, or refuses it. In: the words of
// both. Out: the request as it is now. Granting makes an exemption as `exempt add` does, in one transaction with the answer; nothing is undone by it.

import { formatDuration, isoTime } from '../../base/time.ts';
import { tokenOf } from '../../domain/actor.ts';
import type { AuditNote } from '../../domain/audit-entry.ts';
import { AppError } from '../../domain/errors.ts';
import {
  type AskedExemption,
  demandWaiting,
  type ExemptionRequest,
  ownDevice,
  REQUEST_FOR_MS,
  REQUEST_REASON_MAX,
} from '../../domain/exemption-request.ts';
import { nameKey } from '../../domain/identity.ts';
import { type Operator, saidIn } from '../../domain/operator.ts';
import type { RequestStore } from '../../domain/store-ports.ts';
import { type Approving, demandOwner } from '../run/approvers.ts';
import type { Engine } from '../run/engine.ts';
import { filled, newExemption, said } from './commands.ts';
import { EXEMPTS } from './exempt.ts';

type RequestEngine = Pick<Engine, 'clock' | 'ids'> & { store: RequestStore };
type Answering = RequestEngine & Pick<Approving, 'active'>;

const DECISIONS_READ = 20;

/**
 * Errors: AppError `usage` for a reason or a time that is not taken; `not_found` when the last trusted reading does not show the device as one of
 * this person, whether it is another's or there is none; `conflict` while one about it waits; `busy` after so many in a day.
 */
export async function askExemption(
  engine: RequestEngine & Pick<Engine, 'afterwards'>,
  { person, device, reason, forMs }: AskedExemption,
): Promise<ExemptionRequest> {
  const { store, clock, ids } = engine;
  const own = ownDevice(await store.identitiesOf([device]), device, person);
  if (!own) throw new AppError('not_found', 'the last reading does not show this device as one of yours');
  const given = filled(reason, 'reason', 'say why you need it');
  if (given.length > REQUEST_REASON_MAX)
    throw new AppError('usage', `the reason has ${given.length} characters: at most ${REQUEST_REASON_MAX} are taken`);
  const { min, max } = REQUEST_FOR_MS;
  if (!Number.isInteger(forMs) || forMs < min || forMs > max)
    throw new AppError('usage', `an exemption is asked for ${formatDuration(min)} to ${formatDuration(max)}`);
  const decided = await store.decisions({ subjectId: device, limit: DECISIONS_READ });
  const match = decided.find(({ subject, endedSeq, episodeId }) => {
    return subject.kind === 'device' && endedSeq === undefined && episodeId !== undefined;
  });
  const request: ExemptionRequest = {
    ...{ id: ids.next(), person: nameKey(person), device, serial: own.serial, name: own.name },
    ...{ rule: match?.rule, episodeId: match?.episodeId, reason: given, forMs, askedAt: clock.nowMs() },
    status: 'waiting',
    answeredAt: undefined,
    answeredBy: undefined,
    sentence: undefined,
    exemption: undefined,
    exemptUntil: undefined,
  };
  const body = { ...bodyOf(request), by: request.person, reason: given, forMs, rule: match?.rule };
  await store.addRequest(request, [{ kind: 'exemption.requested', body }]);
  void engine.afterwards?.();
  return request;
}

/** The newest first, with what an operator answered. */
export async function requestsOf(
  store: Pick<RequestStore, 'exemptionRequests'>,
  person: string,
): Promise<ExemptionRequest[]> {
  return (await store.exemptionRequests({ person, limit: REQUESTS_SHOWN })).rows;
}

const REQUESTS_SHOWN = 50;

/** Errors: AppError `not_found` for one of another person too; `conflict` when it no longer waits. */
export async function withdrawRequest(
  engine: RequestEngine,
  { person, id }: { person: string; id: string },
): Promise<ExemptionRequest> {
  const { store, clock } = engine;
  const found = await store.exemptionRequest(id);
  if (found?.id !== id || found.person !== nameKey(person)) throw new AppError('not_found', 'there is no such request');
  demandWaiting(found, clock.nowMs());
  const by = found.person;
  const request: ExemptionRequest = { ...found, status: 'withdrawn', answeredAt: clock.nowMs(), answeredBy: by };
  await store.answerRequest({ request }, [{ kind: 'exemption.request_withdrawn', body: { ...bodyOf(request), by } }]);
  return request;
}

/** What an operator says: `say` to the person, the reason for the record alone. */
interface Answer extends Omit<Operator, 'by' | 'groups'> {
  say: string;
}

/** `until`: a duration from now, or a date; as long as was asked for when it is absent. Errors: as of `addExemption`, and AppError `conflict`. */
export async function grantRequest(
  engine: Answering,
  idOrPrefix: string,
  { until, ...answer }: Answer & { until?: string | undefined },
  by: string,
  groups?: string[],
): Promise<ExemptionRequest> {
  demandOwner(engine, { by, groups }, EXEMPTS);
  const { store, clock } = engine;
  const found = await waiting(engine, idOrPrefix);
  const { device, person, serial } = found;
  const names = [by.split(' (', 1)[0] ?? '', tokenOf(by)];
  if (names.some((name) => nameKey(name) === person))
    throw new AppError(
      'conflict',
      `nobody grants what they asked for themselves: another operator answers ${found.id}`,
    );
  const own = ownDevice(await store.identitiesOf([device]), device, person);
  if (own?.serial !== serial) {
    const text = `the last trusted reading does not show device ${device}${serial === '' ? '' : ` with serial number ${serial}`} as one of ${person}: refuse request ${found.id}, or \`exempt add\` what you mean`;
    throw new AppError('conflict', text);
  }
  const reason = `${answer.reason ?? answer.say} (asked for: ${found.reason})`;
  const about = {
    subject: { kind: 'device', id: device },
    owner: by,
    until: until ?? isoTime(clock.nowMs() + found.forMs),
  };
  const { exemption, note } = await newExemption(engine, { ...about, ...saidIn(answer), reason }, by);
  const request = answered(engine, found, 'granted', answer, by);
  const granted = { ...request, exemption: exemption.id, exemptUntil: exemption.expiresAt };
  const body = { ...answerBody(granted, answer, by), exemption: exemption.id, expiresAt: exemption.expiresAt };
  await store.answerRequest({ request: granted, exemption }, [{ kind: 'exemption.request_granted', body }, note]);
  return granted;
}

/** Errors: AppError `usage`, `not_found`; `conflict` that names who answered it before. */
export async function refuseRequest(
  engine: Answering,
  idOrPrefix: string,
  answer: Answer,
  by: string,
  groups?: string[],
): Promise<ExemptionRequest> {
  const found = await waiting(engine, idOrPrefix);
  demandOwner(
    engine,
    { by, groups },
    `request ${found.id} is not answered`,
    found.rule === undefined ? [] : [found.rule],
  );
  const request = answered(engine, found, 'refused', answer, by);
  const note: AuditNote = { kind: 'exemption.request_refused', body: answerBody(request, answer, by) };
  await engine.store.answerRequest({ request }, [note]);
  return request;
}

async function waiting({ store, clock }: RequestEngine, idOrPrefix: string): Promise<ExemptionRequest> {
  const found = await store.exemptionRequest(idOrPrefix);
  if (!found) throw new AppError('not_found', `there is no request \`${idOrPrefix}\``);
  demandWaiting(found, clock.nowMs());
  return found;
}

function answered(
  { clock }: RequestEngine,
  found: ExemptionRequest,
  status: 'granted' | 'refused',
  answer: Answer,
  by: string,
): ExemptionRequest {
  const sentence = filled(answer.say, 'sentence', 'the person reads it');
  said({ ...saidIn(answer), by });
  return { ...found, status, answeredAt: clock.nowMs(), answeredBy: by, sentence };
}

function bodyOf({ id, person, device, serial }: ExemptionRequest): AuditNote['body'] {
  return { request: id, person, about: `device ${device}`, subject: device, target: serial || undefined };
}

function answerBody(request: ExemptionRequest, answer: Answer, by: string): AuditNote['body'] {
  return { ...bodyOf(request), ...saidIn(answer), by, say: request.sentence };
}
