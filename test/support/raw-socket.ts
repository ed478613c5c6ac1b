// support: bytes sent as they are over a socket, for requests that no client makes. In: a URL and bytes. Out: the
// answers that came until the server closed the connection. A server that never closes makes the test time out.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  status: number;
  headers: Headers;
  /** Names as they came: a name that occurs twice is here twice. */
  names: string[];
  body: string;
}

export function dial(url: string): Socket {
  const { hostname, port } = new URL(url);
  return connect(Number(port), hostname);
}

/** As a piece: nothing more is sent. */
export const END = Symbol('end');

/** Sends the pieces one after another, and reads until the connection is closed. */
export async function exchange(url: string, ...pieces: (string | Buffer | typeof END)[]): Promise<RawAnswer[]> {
  const socket = dial(url);
  await once(socket, 'connect');
  const answers = receive(socket);
  for (const piece of pieces) {
    if (piece === END) socket.end();
    else if (socket.writable) socket.write(piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return answers;
}

/** A reset after an answer is no error: the answer counts. */
export function receive(socket: Socket): Promise<RawAnswer[]> {
  const parts: Buffer[] = [];
  socket.on('data', (part: Buffer) => parts.push(part));
  socket.on('error', () => {});
  return new Promise((resolve, reject) => {
    socket.on('close', () => {
      try {
        resolve(answersIn(Buffer.concat(parts).toString('latin1')));
      } catch (error) {
        reject(error);
      }
    });
  });
}

/** Interim answers (100) are left out. */
function answersIn(text: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = text;
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) throw new Error(`half an answer: ${rest}`);
    const [line = '', ...fields] = rest.slice(0, end).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1]);
    if (!status) throw new Error(`not a status line: ${line}`);
    rest = rest.slice(end + 4);
    if (status === 100) continue;
    const pairs = fields.map((field) => field.split(/: (.*)/s).slice(0, 2) as [string, string]);
    const headers = new Headers(pairs);
    const length = Number(headers.get('content-length') ?? 0);
    answers.push({ status, headers, names: pairs.map(([name]) => name.toLowerCase()), body: rest.slice(0, length) });
    rest = rest.slice(length);
  }
  return answers;
}
