// console faults: malformed bodies. In: an answer, or a size. Out: answers that are cut, slow, huge or not JSON at all.
import { Readable } from 'node:stream';
import { createGzip, gzipSync } from 'node:zlib';
import type { Clock } from '../../domain/ports.ts';

const JSON_TYPE = { 'Content-Type': 'application/json' };

/** The framing is right: the JSON, or the gzip around it, ends too soon. */
export async function cutAnswer(answer: Response, how: 'json' | 'gzip', keep: number): Promise<Response> {
  const whole = Buffer.from(await answer.arrayBuffer());
  const bytes = how === 'gzip' ? gzipSync(whole) : whole;
  const cut = bytes.subarray(0, Math.min(Math.floor(bytes.length * keep), bytes.length - 1));
  const headers = { ...JSON_TYPE, ...(how === 'gzip' ? { 'Content-Encoding': 'gzip' } : {}) };
  return new Response(new Uint8Array(cut), { status: answer.status, headers });
}

/** The same answer, a few bytes at a time. */
export async function slowAnswer(
  answer: Response,
  pieceBytes: number,
  everyMs: number,
  clock: Clock,
): Promise<Response> {
  const whole = new Uint8Array(await answer.arrayBuffer());
  const ending = new AbortController();
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (sent > 0) await clock.sleep(everyMs, ending.signal);
      controller.enqueue(whole.subarray(sent, sent + pieceBytes));
      sent += pieceBytes;
      if (sent >= whole.length) controller.close();
    },
    cancel: () => ending.abort(),
  });
  return new Response(body, { status: answer.status, headers: answer.headers });
}

export function garbageAnswer(body: string | undefined): Response {
  return new Response(body ?? '\u0000<!doctype html><html>{"Message": "Succ\uFFFD', {
    status: 200,
    headers: JSON_TYPE,
  });
}

const MEGABYTE = Buffer.alloc(1_048_576, ' ');

/** A JSON list that is blank for as many megabytes as asked for. */
export function bombAnswer(megabytes: number, isPacked: boolean): Response {
  const plain = Readable.from(
    (function* () {
      yield Buffer.from('[');
      for (let each = 0; each < megabytes; each++) yield MEGABYTE;
      yield Buffer.from(']');
    })(),
  );
  const stream = isPacked ? plain.pipe(createGzip({ level: 1 })) : plain;
  // Hanging up on a bomb is right.
  stream.on('error', () => plain.destroy());
  stream.on('close', () => plain.destroy());
  return new Response(Readable.toWeb(stream) as ReadableStream<Uint8Array>, {
    status: 200,
    headers: { ...JSON_TYPE, ...(isPacked ? { 'Content-Encoding': 'gzip' } : {}) },
  });
}
