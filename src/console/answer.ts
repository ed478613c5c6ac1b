// console: what a handler answers, and how it becomes a response.
// In: JSON text, whole or in pieces. Out: a Response. A long list is pulled by its reader: it is never whole in memory.
import { randomUUID } from 'node:crypto';

export type Answer = { kind: 'text'; text: string } | { kind: 'pieces'; pieces: Iterable<string> };

export function textAnswer(text: string): Answer {
  return { kind: 'text', text };
}

export function jsonAnswer(value: unknown): Answer {
  return { kind: 'text', text: JSON.stringify(value) };
}

/** A JSON list between `before` and `after`, out of batches of records as JSON text. */
export function listAnswer(batches: Iterable<string[]>, before = '[', after = ']'): Answer {
  return { kind: 'pieces', pieces: listPieces(batches, before, after) };
}

function* listPieces(batches: Iterable<string[]>, before: string, after: string): Generator<string> {
  let lead = before;
  for (const batch of batches) {
    if (batch.length === 0) continue;
    yield lead + batch.join(',');
    lead = ',';
  }
  yield lead === ',' ? after : before + after;
}

const JSON_HEADERS = { 'Content-Type': 'application/json' };

/** Throws what the first piece throws: once the status is sent, a failure can only break off the body. */
export function responseOf(answer: Answer): Response {
  if (answer.kind === 'text') return jsonResponse(200, answer.text);
  const pieces = answer.pieces[Symbol.iterator]();
  let first: IteratorResult<string> | undefined = pieces.next();
  const encoder = new TextEncoder();
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const next = first ?? pieces.next();
        first = undefined;
        if (next.done) controller.close();
        else controller.enqueue(encoder.encode(next.value));
      },
      cancel() {
        pieces.return?.();
      },
    },
    { highWaterMark: 1 },
  );
  return new Response(stream, { status: 200, headers: JSON_HEADERS });
}

export function jsonResponse(status: number, text: string, headers: Record<string, string> = {}): Response {
  return new Response(text, { status, headers: { ...JSON_HEADERS, ...headers } });
}

export const EDITIONS = ['full', 'basic'] as const;
export type Edition = (typeof EDITIONS)[number];

// A refused request, with its status and the one sentence that its sender reads. In: what is wrong. Out: a
// Refusal, turned into `{Message}` or the envelope by the app. It never names internals.

type RefusalStatus = 400 | 401 | 403 | 404 | 405 | 413 | 500;

export class Refusal extends Error {
  constructor(
    readonly status: RefusalStatus,
    message: string,
    readonly headers: Record<string, string> = {},
  ) {
    super(message);
  }
}

/** The body of an error outside bundles: existing clients count a JSON body without `Message` as a success. */
export function messageBody(message: string): string {
  return JSON.stringify({ Message: message });
}

/**
 * The body of an error of bundles and v2, with an id of its own; `error_code` is the HTTP status, which is never 0. It has a `Message`
 * too: clients that look for one would take the envelope for a success.
 */
export function errorEnvelope(status: number, message: string): string {
  const codes = { request_id: randomUUID(), error_code: status, error_description: message };
  return JSON.stringify({ ...codes, Message: message, data: {} });
}

/** The body of an error where no endpoint is known: below the bundles' addresses the envelope, elsewhere `Message`. */
export function errorText(path: string, status: number, message: string): string {
  const isEnveloped =
    /^(\/api)?\/experimental\/v2(\/|$)|^\/api\/v[12]\/event_types|^\/api\/v2\/(bundle|service_bundle|devices|enduser|api_key|shield_config)/.test(
      path,
    );
  return isEnveloped ? errorEnvelope(status, message) : messageBody(message);
}

/** A success of bundles and v2, around JSON text. */
export function envelope(requestId: string, dataText: string): string {
  return `{"request_id":${JSON.stringify(requestId)},"error_code":0,"error_description":"","data":${dataText}}`;
}

const BODY_BYTES_MAX = 4 * 1_048_576;

export async function readLimitedText(request: Request): Promise<string> {
  const announced = Number(request.headers.get('content-length') ?? 0);
  if (announced > BODY_BYTES_MAX) throw tooLarge();
  if (!request.body) return '';
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of request.body as unknown as AsyncIterable<Uint8Array>) {
    size += part.byteLength;
    if (size > BODY_BYTES_MAX) throw tooLarge();
    parts.push(part);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(parts));
  } catch {
    throw new Refusal(400, 'the body is not UTF-8');
  }
}

function tooLarge(): Refusal {
  return new Refusal(413, `the body is larger than ${BODY_BYTES_MAX} bytes`);
}
