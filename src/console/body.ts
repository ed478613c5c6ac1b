// console: reads a request's body up to a limit. In: a request. Out: its text, or a Refusal (413; 400 for bytes that
// are not UTF-8, since they could not be returned byte for byte). It must never hold more than the limit.
import { Refusal } from './refusal.ts';

export const BODY_BYTES_MAX = 4 * 1_048_576;

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
