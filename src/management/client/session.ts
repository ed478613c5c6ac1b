// management client: requests with a credential: sends, and after a 401 renews and sends exactly once more. In: a
// request and its signer. Out: an answer that is not a 401. A 401 had no effect, so this one replay is allowed for
// writes too; a second 401 is `api_refused`.
import type { Endpoint } from '../contract/endpoints.ts';
import type { Authorizer } from './credentials.ts';
import type { Head } from './exchange.ts';
import { problem } from './fault.ts';
import type { Answer, OpenAnswer, Outgoing, Transport } from './transport.ts';

export class Session {
  readonly #transport: Transport;
  readonly #authorizers: Record<Exclude<Endpoint['auth'], 'refresh'>, Authorizer>;

  constructor(transport: Transport, authorizers: { user: Authorizer; admin: Authorizer }) {
    this.#transport = transport;
    this.#authorizers = authorizers;
  }

  /** One whole answer. Rejects with a TransportFault, or AppError `api_refused` or that of a failed token exchange. */
  fetch(
    outgoing: Outgoing,
    signer: 'user' | 'admin',
    limits: { timeoutMs: number; bytesMax: number; signal?: AbortSignal | undefined },
  ): Promise<Answer> {
    return this.#signed(outgoing, signer, (header) => this.#transport.fetch(outgoing, header, limits));
  }

  /** One answer read chunk by chunk. Errors as with `fetch`. */
  open(
    outgoing: Outgoing,
    signer: 'user' | 'admin',
    limits: { timeoutMs: number; chunkTimeoutMs: () => number; signal?: AbortSignal | undefined },
  ): Promise<OpenAnswer> {
    return this.#signed(outgoing, signer, (header) => this.#transport.open(outgoing, header, limits));
  }

  async #signed<T extends Head>(
    outgoing: Outgoing,
    signer: 'user' | 'admin',
    send: (header: string | undefined) => Promise<T>,
  ): Promise<T> {
    const authorizer = this.#authorizers[signer];
    const grant = await authorizer.current();
    const answer = await send(grant.header);
    if (answer.status !== 401) return answer;
    if (await authorizer.renew(grant)) {
      const second = await send((await authorizer.current()).header);
      if (second.status !== 401) return second;
    }
    throw problem('api_refused', outgoing, 'refused', refusedWords(signer));
  }
}

function refusedWords(signer: 'user' | 'admin'): string {
  return signer === 'admin'
    ? 'the admin token was refused (401): check that it is valid'
    : 'the credential was refused (401): check that the API key or refresh token is valid';
}
