// console: the app on a TCP port. In: an app, host and port (0: any). Out: its address, and a close that ends open
// connections. A busy port is one clear line.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { AppError } from '../domain/errors.ts';
import { answerMalformed, responseWithoutApp } from './malformed.ts';

export interface Listening {
  /** `http://host:port` */
  address: string;
  close(): Promise<void>;
}

/** AppError `port_busy` when the address is taken, `config` when it cannot be used. */
export async function listenOn(app: Hono, host: string, port: number): Promise<Listening> {
  // The app itself refuses a request without a Host, with a sentence.
  const server = createServer({ requireHostHeader: false });
  answerMalformed(server);
  server.on('request', getRequestListener(app.fetch, { errorHandler: responseWithoutApp }));
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(refusal(error, host, port)));
    server.listen(port, host, () => resolve());
  });
  const bound = server.address() as AddressInfo;
  const name = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address;
  return {
    address: `http://${name}:${bound.port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function refusal(error: NodeJS.ErrnoException, host: string, port: number): AppError {
  if (error.code === 'EADDRINUSE') {
    return new AppError(
      'port_busy',
      `the console cannot listen on ${host}:${port}: the port is taken, give another one`,
    );
  }
  return new AppError('config', `the console cannot listen on ${host}:${port}: ${error.code ?? error.message}`);
}
