// management client: compressed bodies, unpacked with their truncation noticed and their size capped.
// In: bytes and the `Content-Encoding` they came with. Out: plain bytes. A cut-off body must never pass for a whole one,
// and a bomb must never be unpacked past the cap.
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { TransportFault } from './fault.ts';

const gunzip = promisify<Buffer, zlib.ZlibOptions, Buffer>(zlib.gunzip);
const inflate = promisify<Buffer, zlib.ZlibOptions, Buffer>(zlib.inflate);
const inflateRaw = promisify<Buffer, zlib.ZlibOptions, Buffer>(zlib.inflateRaw);
const brotli = promisify<Buffer, zlib.BrotliOptions, Buffer>(zlib.brotliDecompress);

type Encoding = 'identity' | 'gzip' | 'deflate' | 'br';

/** Unpacks a whole body. Rejects with a TransportFault `truncated`, `too_large` or `encoding`. */
export async function decompress(body: Buffer, header: string | undefined, bytesMax: number): Promise<Buffer> {
  const encoding = encodingOf(header);
  if (encoding === 'identity' || body.length === 0) return body;
  const options = { maxOutputLength: bytesMax };
  try {
    if (encoding === 'gzip') return await gunzip(body, options);
    if (encoding === 'br') return await brotli(body, options);
    return await (isZlib(body) ? inflate : inflateRaw)(body, options);
  } catch (error) {
    throw unpackingFault(error, bytesMax);
  }
}

/** Unpacks a body as it comes. The caps of a streamed list are its reader's. */
export async function* chunksOf(
  next: () => Promise<Buffer | undefined>,
  header: string | undefined,
): AsyncGenerator<Buffer, void> {
  const encoding = encodingOf(header);
  if (encoding === 'identity') {
    for (let chunk = await next(); chunk; chunk = await next()) yield chunk;
    return;
  }
  const first = await next();
  if (!first) return;
  let fault: unknown;
  const packed = Readable.from(remember(first, next, (error) => (fault = error)));
  const unpacked = packed.pipe(unpackerOf(encoding, first));
  packed.on('error', (error) => unpacked.destroy(error));
  try {
    for await (const chunk of unpacked) yield chunk as Buffer;
  } catch (error) {
    throw fault ?? unpackingFault(error, 0);
  } finally {
    packed.destroy();
    unpacked.destroy();
  }
}

async function* remember(first: Buffer, next: () => Promise<Buffer | undefined>, note: (error: unknown) => void) {
  try {
    for (let chunk: Buffer | undefined = first; chunk; chunk = await next()) yield chunk;
  } catch (error) {
    note(error);
    throw error;
  }
}

function unpackerOf(encoding: Encoding, first: Buffer) {
  if (encoding === 'gzip') return zlib.createGunzip();
  if (encoding === 'br') return zlib.createBrotliDecompress();
  return isZlib(first) ? zlib.createInflate() : zlib.createInflateRaw();
}

/** `deflate` is sent with and without zlib's header. */
function isZlib(body: Buffer): boolean {
  return ((body[0] ?? 0) & 0x0f) === 8 && (((body[0] ?? 0) << 8) | (body[1] ?? 0)) % 31 === 0;
}

function encodingOf(header: string | undefined): Encoding {
  const name = (header ?? '').trim().toLowerCase();
  if (name === '' || name === 'identity') return 'identity';
  if (name === 'gzip' || name === 'x-gzip') return 'gzip';
  if (name === 'deflate' || name === 'br') return name;
  throw new TransportFault('encoding', true, 'the answer is compressed in a way that was not asked for');
}

function unpackingFault(error: unknown, bytesMax: number): TransportFault {
  const code = (error as { code?: unknown }).code;
  if (code === 'ERR_BUFFER_TOO_LARGE') {
    return new TransportFault('too_large', true, `the answer is larger than ${bytesMax} bytes when unpacked`);
  }
  if (code === 'Z_BUF_ERROR' || code === 'ERR__ERROR_FORMAT_TRUNCATED') {
    return new TransportFault('truncated', true, 'the compressed answer is cut off');
  }
  return new TransportFault('encoding', true, 'the compressed answer is damaged');
}
