// domain: requests that a client may repeat: what became of the first one. In: ids, which are hashes. Out: its answer, or the run that it
// began before its answer was lost.

export interface KeptAnswer {
  status: number;
  headers: { [name: string]: string };
  body: Uint8Array;
}

export interface KeyedRequest {
  /** A hash of all that must be the same in a repeat. */
  request: string;
  /** Epoch ms. */
  begunAt: number;
  /** The run that it began. */
  run: string | undefined;
  /** Undefined: the process ended before, or it could not be stored. */
  answer: KeptAnswer | undefined;
}

/** Each method but `hold` is one unit of work. Errors: AppError `store_failed`. */
export interface AnswerStore {
  /**
   * The right to answer this request, until what is returned is called, which never rejects. Undefined: another one answers it now, here or in
   * another process.
   */
  hold(id: string): Promise<(() => Promise<void>) | undefined>;
  /** Undefined also for one that is older than a day. */
  find(id: string): Promise<KeyedRequest | undefined>;
  /** INVARIANT: before anything is done for it. */
  begin(id: string, request: string): Promise<void>;
  keep(id: string, answer: KeptAnswer): Promise<void>;
  /** It changed nothing: a repeat is a new request. One that began a run is never forgotten. */
  forget(id: string): Promise<void>;
}
