// console: what a handler answers, and how it becomes a response.
// In: JSON text, whole or in pieces. Out: a Response. A long list is pulled by its reader: it is never whole in memory.

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
