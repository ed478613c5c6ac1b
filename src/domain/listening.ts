// domain: hearing at once what other processes tell on a channel of the database they share. It hastens: nothing may depend on it alone.

/** Begins at once and never fails: while the database is away, it tries again. `channel`: an identifier. */
export type Listen = (channel: string, hearing: Hearing) => Listening;

export interface Hearing {
  heard(payload: string): void;
  /** What was told before may not have been heard: called when it begins, again and again, and after each interruption. */
  missed(): void;
}

export interface Listening {
  /** Resolves when nothing is called any more. */
  close(): Promise<void>;
}
