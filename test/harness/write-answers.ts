// harness: the platform's answer to a writing request, by the request's fate. In: a fate. Out: the answer, and whether the request takes
// effect at once.
import type { WriteAnswer } from '../../src/domain/ports.ts';
import type { WriteFate } from './profile.ts';

export const AT_ONCE: ReadonlySet<WriteFate> = new Set(['done', 'lost_reply', 'error_after']);

const doubtful = (text: string, status?: number): WriteAnswer => ({ kind: 'doubtful', status, text });
const failed = (text: string, status: number): WriteAnswer => ({ kind: 'failed', status, text });
const DONE: WriteAnswer = { kind: 'done', status: 200, text: 'Success' };

export const ANSWERS: { readonly [fate in WriteFate]: WriteAnswer } = {
  done: DONE,
  lost_request: doubtful('the connection was reset'),
  lost_reply: doubtful('the connection was reset'),
  late: doubtful('no answer in time'),
  slow: doubtful('no answer in time'),
  error_before: doubtful('500 Internal Server Error', 500),
  error_after: doubtful('500 Internal Server Error', 500),
  limited: failed('429 Too Many Requests', 429),
  refused: failed('400 Bad Request', 400),
  unauthorized: failed('401 Unauthorized', 401),
  lying_late: DONE,
  lying: DONE,
};
