// management client: whether a writing request had its effect, as far as its answer shows. In: an answer, or the fault
// that came instead. Out: done, failed or doubtful. It must never call a doubt a failure: a failed call may be made
// again, a doubtful one only after reading back.
import { isFacts } from '../../domain/facts.ts';
import type { WriteAnswer } from '../../domain/ports.ts';
import { parseExact } from '../contract/exact-json.ts';
import { MESSAGE_SUCCESS } from '../contract/values.ts';
import type { TransportFault } from './fault.ts';
import { messageOf } from './read-answer.ts';
import type { Redactor } from './redactor.ts';
import type { Answer } from './transport.ts';

/** The sign of a success: every `Message` is `Success`; no error in the body; the envelope's `error_code` is 0. */
export type SuccessSign = 'every_message' | 'no_error' | 'envelope';

/** The result by status and then by body. The session handles a 401. */
export function classifyAnswer(sign: SuccessSign, answer: Answer, redactor: Redactor): WriteAnswer {
  const { status } = answer;
  if (status === 200 || status === 201 || status === 204) return classifyBody(sign, answer, redactor);
  const message = redactor.clean(messageOf(answer.body));
  const text = message === '' ? `status ${status}` : `status ${status}: ${message}`;
  // Redirects and odd successes are doubtful too: a POST that had its effect is often answered with one.
  return status >= 400 && status < 500 ? { kind: 'failed', status, text } : { kind: 'doubtful', status, text };
}

/** The result of a fault: a failure only when nothing left. */
export function classifyFault(fault: TransportFault): WriteAnswer {
  return { kind: fault.sent ? 'doubtful' : 'failed', status: undefined, text: fault.words };
}

function classifyBody(sign: SuccessSign, answer: Answer, redactor: Redactor): WriteAnswer {
  const { status } = answer;
  const body = answer.body.toString('utf8').trim();
  let value: unknown;
  try {
    value = body === '' ? undefined : parseExact(body);
  } catch {
    return { kind: 'doubtful', status, text: 'the answer cannot be read: it is not valid JSON' };
  }
  const verdict = SIGNS[sign](value);
  return { kind: verdict.kind, status, text: redactor.clean(verdict.text) };
}

type Finding = { kind: WriteAnswer['kind']; text: string };

const SIGNS: Record<SuccessSign, (value: unknown) => Finding> = {
  every_message: everyMessage,
  no_error: noError,
  envelope: envelope,
};

function everyMessage(value: unknown): Finding {
  const items = Array.isArray(value) ? value : [value];
  const error = items.map(errorIn).find((each) => each !== undefined);
  if (error !== undefined) return { kind: 'failed', text: error };
  const messages = items.map((item) => (isFacts(item) ? item.Message : undefined));
  const other = messages.filter((each) => typeof each === 'string' && each.trim() !== MESSAGE_SUCCESS);
  if (other.length > 0) return { kind: 'failed', text: other.join('; ') };
  if (messages.length === 0 || messages.includes(undefined) || messages.some((each) => typeof each !== 'string')) {
    return { kind: 'doubtful', text: 'the answer does not show whether it succeeded' };
  }
  return { kind: 'done', text: messages.join('; ') };
}

function noError(value: unknown): Finding {
  const items = Array.isArray(value) ? value : [value];
  const error = items.map(errorIn).find((each) => each !== undefined);
  if (error !== undefined) return { kind: 'failed', text: error };
  return { kind: 'done', text: evidenceOf(value) };
}

function envelope(value: unknown): Finding {
  const code = isFacts(value) ? codeOf(value.error_code) : undefined;
  if (code === undefined)
    return { kind: 'doubtful', text: 'the answer is not the envelope that bundles are answered with' };
  if (code === '0') return { kind: 'done', text: '' };
  return { kind: 'failed', text: errorIn(value) ?? `error_code ${code}` };
}

/** The error in a body: `error`, or an `error_code` other than 0. A `Message` alone is not one. */
function errorIn(value: unknown): string | undefined {
  if (!isFacts(value)) return undefined;
  const code = codeOf(value.error_code);
  const words = [value.error_description, value.error, value.Message].find(
    (each): each is string => typeof each === 'string' && each !== '',
  );
  if (code !== undefined && code !== '0') return `error_code ${code}${words ? `: ${words}` : ''}`;
  const error = value.error;
  if (error === undefined || error === null || error === false || error === '') return undefined;
  return words ?? 'the answer contains an error';
}

function codeOf(value: unknown): string | undefined {
  return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'string'
    ? String(value)
    : undefined;
}

/** Kept in the audit: the server's message, not its whole record. */
function evidenceOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!isFacts(value)) return '';
  if (typeof value.Message === 'string') return value.Message;
  if (typeof value.ServiceID === 'string') return `${value.ServiceID}, version ${String(value.ServiceVersion)}`;
  return '';
}
