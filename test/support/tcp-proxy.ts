// support: a proxy on loopback between a client and a server, such as PostgreSQL or the console. In: the server's port. Out: a port, and
// commands that break what passes it: cut, hang, delay, half-close. It never changes a byte.
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** `to_client`: what the server answers is lost, and what it is asked still arrives. */
type Direction = 'to_server' | 'to_client' | 'both';

interface Pair {
  client: Socket;
  server: Socket;
}

export class TcpProxy {
  private readonly pairs = new Set<Pair>();
  private hung: Direction | undefined;
  private delayMs = 0;
  private isRefusing = false;
  /** How many connections there were. */
  accepted = 0;

  private constructor(
    private readonly listener: Server,
    private readonly target: { port: number; host: string },
  ) {
    listener.on('connection', (client) => this.join(client));
  }

  static async start(port: number, host = '127.0.0.1'): Promise<TcpProxy> {
    const listener = createServer({ allowHalfOpen: true });
    const proxy = new TcpProxy(listener, { port, host });
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.listener.address() as { port: number }).port;
  }

  get open(): number {
    return this.pairs.size;
  }

  /** All connections end with a reset, on both sides. */
  cut(): void {
    for (const { client, server } of this.pairs) {
      client.resetAndDestroy();
      server.resetAndDestroy();
    }
  }

  /** Nothing passes any more, and no connection ends: as with a cable that was pulled. */
  hang(direction: Direction = 'both'): void {
    this.hung = direction;
    for (const pair of this.pairs) this.hold(pair);
  }

  /** Goes on with what waited. */
  resume(): void {
    this.hung = undefined;
    for (const { client, server } of this.pairs) {
      client.resume();
      server.resume();
    }
  }

  /** Each piece waits for so long, in its order. */
  delay(ms: number): void {
    this.delayMs = ms;
  }

  /** The server reads the end of each connection, and may still answer. */
  halfClose(): void {
    for (const { server } of this.pairs) server.end();
  }

  /** New connections are reset. */
  refuse(isRefusing = true): void {
    this.isRefusing = isRefusing;
  }

  async close(): Promise<void> {
    this.listener.close();
    this.cut();
    await once(this.listener, 'close');
  }

  private join(client: Socket): void {
    this.accepted += 1;
    if (this.isRefusing) {
      client.resetAndDestroy();
      return;
    }
    const server = connect({ ...this.target, allowHalfOpen: true });
    const pair = { client, server };
    this.pairs.add(pair);
    this.pass(client, server);
    this.pass(server, client);
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.on('close', () => this.part(pair));
    }
    this.hold(pair);
  }

  private pass(from: Socket, to: Socket): void {
    let last = Promise.resolve();
    const inTurn = (work: () => void) => {
      if (this.delayMs === 0) {
        void last.then(work);
        return;
      }
      const waited = new Promise<void>((resolve) => setTimeout(resolve, this.delayMs));
      last = last.then(() => waited).then(work);
    };
    from.on('data', (bytes) => inTurn(() => to.writable && !to.write(bytes) && this.pause(from, to)));
    from.on('end', () => inTurn(() => to.writable && to.end()));
  }

  private pause(from: Socket, to: Socket): void {
    from.pause();
    to.once('drain', () => this.hung === undefined && from.resume());
  }

  private hold({ client, server }: Pair): void {
    if (this.hung === 'both' || this.hung === 'to_server') client.pause();
    if (this.hung === 'both' || this.hung === 'to_client') server.pause();
  }

  private part(pair: Pair): void {
    this.pairs.delete(pair);
    pair.client.destroy();
    pair.server.destroy();
  }
}
