// http: a request's body as text, counted while it arrives. In: a request. Out: at most 64 KiB of text (2 MiB of a person who is signed
// in), or 413. It reads the given stream and never rebuilds the request: one that arrives on a socket cannot be copied.
import { Problem } from './problem.ts';
import type { Ctx } from './route.ts';

const BODY_BYTES_MAX = 64 * 1024;
/** Of a person who is signed in: a form that names each of 10,000 targets fits. */
const FORM_BYTES_MAX = 2 * 1024 * 1024;

/** Refuses a body whose announced length is too large. Errors: Problem 413. */
export function demandShortBody(context: Ctx): void {
  const contentLength = context.req.header('content-length');
  const bytesMax = bytesMaxOf(context);
  if (contentLength !== undefined && Number(contentLength) > bytesMax) throw tooLarge(bytesMax);
}

function bytesMaxOf(context: Ctx): number {
  return context.var.session === undefined ? BODY_BYTES_MAX : FORM_BYTES_MAX;
}

/** Empty without a body. Errors: Problem 413 for one over the limit, 400 for one that breaks off or is not UTF-8. */
export async function readBodyText(context: Ctx): Promise<string> {
  const { bodyText } = context.var;
  if (bodyText !== undefined) return bodyText;
  const reader = context.req.raw.body?.getReader();
  if (!reader) return '';
  const bytesMax = bytesMaxOf(context);
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read().catch(brokenOff);
    if (done) return textOf(Buffer.concat(parts));
    bytes += value.byteLength;
    // Not cancelled: that would cut the connection before the refusal is sent. The server discards the unread rest.
    if (bytes > bytesMax) throw tooLarge(bytesMax);
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

function tooLarge(bytesMax: number): Problem {
  return new Problem(413, 'too-large', 'The body is too large', `a body may have ${bytesMax} bytes at most`);
}
