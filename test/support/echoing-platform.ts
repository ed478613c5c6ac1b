// support: a platform that repeats what it is sent: a server before a console that has credentials of its own, and puts the caller's into
// headers and bodies. In: a console. Out: its address, which credentials it takes, and answers to refuse with.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Refusal {
  status: number;
  body: string;
}

export interface EchoingPlatform {
  address: string;
  /** What a caller sends → what the console takes. */
  takes: Map<string, string>;
  /** Refresh token → the access token that it is exchanged for; undefined refuses it with an echo. */
  exchange(refreshToken: string): string | undefined;
  /** Instead of the console; `credential`: what the caller sent. Undefined: the console answers. */
  refuse(method: string, path: string, credential: string): Refusal | undefined;
  close(): Promise<void>;
}

export async function startEchoing(console: { address: string }): Promise<EchoingPlatform> {
  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const platform: EchoingPlatform = {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    takes: new Map(),
    exchange: () => undefined,
    refuse: () => undefined,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = '', url = '', headers } = request;
    const credential = (headers.authorization ?? '').replace(/^Bearer /i, '');
    const echo = {
      'Content-Type': 'application/json',
      'X-Echo': credential,
      'Set-Cookie': `session=${encodeURIComponent(credential)}`,
      'WWW-Authenticate': `Bearer realm="x", error_description="you sent ${encodeURIComponent(credential)}"`,
    };
    const send = (status: number, body: string | Buffer) => void response.writeHead(status, echo).end(body);
    const path = url.split('?')[0] as string;
    const refused = platform.refuse(method, path, credential);
    if (refused) return send(refused.status, refused.body);
    if (path.endsWith('/refresh_token')) {
      const token = platform.exchange(credential);
      return token === undefined
        ? send(401, JSON.stringify({ Message: `unknown token ${credential}` }))
        : send(200, JSON.stringify({ Message: token }));
    }
    const taken = platform.takes.get(credential);
    if (taken === undefined) return send(401, JSON.stringify({ Message: `you sent ${credential}` }));
    const behind = await fetch(`${console.address}${url}`, {
      method,
      headers: { authorization: `Bearer ${taken}`, 'content-type': headers['content-type'] ?? 'application/json' },
      ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
    });
    send(behind.status, Buffer.from(await behind.arrayBuffer()));
  }
  return platform;
}
