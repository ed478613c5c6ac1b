// http: a request's body as text, counted while it arrives. In: a request. Out: at most 64 KiB of text, or 413. It
// reads the given stream and never rebuilds the request: one that arrives on a socket cannot be copied.
import { Problem } from './problem.ts';
import type { Ctx } from './route.ts';

const BODY_BYTES_MAX = 64 * 1024;

/** Refuses a body whose announced length is too large. Errors: Problem 413. */
export function demandShortBody(contentLength: string | undefined): void {
  if (contentLength !== undefined && Number(contentLength) > BODY_BYTES_MAX) throw tooLarge();
}

/** Empty without a body. Errors: Problem 413 for one over the limit, 400 for one that breaks off or is not UTF-8. */
export async function readBodyText(context: Ctx): Promise<string> {
  const reader = context.req.raw.body?.getReader();
  if (!reader) return '';
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read().catch(brokenOff);
    if (done) return textOf(Buffer.concat(parts));
    bytes += value.byteLength;
    // Not cancelled: that would cut the connection before the refusal is sent. The server discards the unread rest.
    if (bytes > BODY_BYTES_MAX) throw tooLarge();
    parts.push(value);
  }
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Problem(400, 'not-utf-8', 'The body is not UTF-8', 'the body is not UTF-8: send it as UTF-8');
  }
}

function brokenOff(): never {
  throw new Problem(400, 'broken-body', 'The body broke off', 'the body broke off before its end: send it again');
}

function tooLarge(): Problem {
  return new Problem(413, 'too-large', 'The body is too large', `a body may have ${BODY_BYTES_MAX} bytes at most`);
}
