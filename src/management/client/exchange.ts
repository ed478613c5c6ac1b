// management client: one HTTP exchange, sent once, its body passed on chunk by chunk under backpressure. In: undici's
// events. Out: the head, then chunks, or one TransportFault. It must never let a request go out twice: undici may
// repeat one whose connection failed, and that repeat is refused here. Nor one that may not leave any more.
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { TransportFault } from './fault.ts';

export interface Head {
  status: number;
  headers: IncomingHttpHeaders;
}

/** Above this much unread the connection is paused. */
const UNREAD_BYTES_MAX = 4 * 2 ** 20;

export class Exchange implements Dispatcher.DispatchHandler {
  /** Whether the request may have left. */
  sent = false;
  #controller: Dispatcher.DispatchController | undefined;
  #head: Head | undefined;
  #chunks: Buffer[] = [];
  #unread = 0;
  #ended = false;
  #fault: TransportFault | undefined;
  #wake: (() => void) | undefined;
  readonly #mayLeave: () => boolean;

  /** `mayLeave` is asked when a connection is there, directly before the first byte is written to it. */
  constructor(mayLeave: () => boolean = () => true) {
    this.#mayLeave = mayLeave;
  }

  /** Whether `next` needs no waiting. */
  get isReady(): boolean {
    return this.#chunks.length > 0;
  }

  /** The answer's head. Rejects with a TransportFault. */
  async head(): Promise<Head> {
    while (!this.#head) {
      if (this.#fault) throw this.#fault;
      await this.#change();
    }
    return this.#head;
  }

  /** The next chunk of the body, undefined at its end. Rejects with a TransportFault. */
  async next(): Promise<Buffer | undefined> {
    while (this.#chunks.length === 0) {
      if (this.#fault) throw this.#fault;
      if (this.#ended) return undefined;
      await this.#change();
    }
    const chunk = this.#chunks.shift() as Buffer;
    this.#unread -= chunk.length;
    if (this.#controller?.paused && this.#unread < UNREAD_BYTES_MAX / 2) this.#controller.resume();
    return chunk;
  }

  /** Gives up: waiting callers get this fault, and a request that has not left never will. */
  abort(why: 'too_slow' | 'too_large' | 'stopped' | 'truncated', words: string): void {
    if (this.#fault || this.#ended) return;
    this.#fail(new TransportFault(why, this.sent, words));
    this.#controller?.abort(this.#fault as unknown as Error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#fault || this.sent) {
      controller.abort(this.#fault ?? new TransportFault('broken', true, 'the connection broke'));
      return;
    }
    // INVARIANT: undici calls this in the same turn in which it writes the request, however long that waited for a connection.
    if (!this.#mayLeave()) {
      this.#fail(
        new TransportFault(
          'stopped',
          false,
          'the request was not sent: this process may not change the fleet any more',
        ),
      );
      controller.abort(this.#fault as unknown as Error);
      return;
    }
    this.sent = true;
    this.#controller = controller;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return; // informational: the answer is still to come
    this.#head = { status, headers };
    this.#notify();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#unread += chunk.length;
    if (this.#unread > UNREAD_BYTES_MAX) controller.pause();
    this.#notify();
  }

  onResponseEnd(): void {
    this.#ended = true;
    this.#notify();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(faultOf(error, this.sent, this.#head !== undefined));
  }

  #fail(fault: TransportFault): void {
    this.#fault ??= fault;
    this.#notify();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #notify(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}

/** What an error of undici or the operating system means. */
export function faultOf(error: Error, sent: boolean, headSeen: boolean): TransportFault {
  if (error instanceof TransportFault) return error;
  const code = codeOf(error);
  // Only the operating system's errors are kept as the cause: undici's hold bytes of what a server sent.
  const options = 'syscall' in error ? { cause: error } : {};
  if (!sent) return new TransportFault('unreachable', false, unreachableWords(code), options);
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') {
    return new TransportFault('truncated', true, 'the answer is shorter than its declared length', options);
  }
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    return new TransportFault('too_large', true, 'the headers of the answer are too large', options);
  }
  if (error.name === 'HTTPParserError' || code.startsWith('HPE_')) {
    return new TransportFault('garbage', true, 'the answer is not valid HTTP');
  }
  return headSeen
    ? new TransportFault('truncated', true, 'the answer ended before it was complete', options)
    : new TransportFault('broken', true, 'the connection broke before an answer came', options);
}

function codeOf(error: Error): string {
  const code = (error as { code?: unknown }).code;
  return typeof code === 'string' ? code : '';
}

function unreachableWords(code: string): string {
  switch (code) {
    case 'ECONNREFUSED':
      return 'the connection was refused: is the server running, and is the API address right?';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'the host name cannot be resolved: check the API address';
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'ETIMEDOUT':
      return 'no connection within the time allowed: check the API address and the network';
    default:
      return `no connection can be made${code ? ` (${code})` : ''}: check the API address and the network`;
  }
}
