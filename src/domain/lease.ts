// domain: one actor for an organization at a time, whichever process on whichever machine it is in. In: an organization. Out: the right
// to act for it, for as long as it is confirmed. It decides nothing about what is done with that right.

export interface Leases {
  /**
   * Waits until nobody else may act for the organization, and until nothing that a former actor sent can still be on its way. Errors:
   * AppError `store_locked` when somebody acts for longer than `waitMs`; `stopped` when the signal aborts; `store_failed`.
   * INVARIANT: of two leases of one organization the later one has the greater fence, and is given out when no request of the
   * earlier one may be written any more.
   */
  take(organization: string, options: TakeOptions): Promise<Lease>;
}

/** `refused`: somebody else acts, for longer than it was waited for. */
export type LeaseChange = 'taken' | 'refused' | 'lost';
export const LEASE_CHANGES: readonly LeaseChange[] = ['taken', 'refused', 'lost'];

export interface TakeOptions {
  /** How long an actor that is alive is waited for. One that is not costs its lease and the quiet period at most, beyond this. */
  waitMs: number;
  /** How long an effect of what a former actor sent may still come. */
  quietMs: number;
  signal?: AbortSignal | undefined;
}

export interface Lease {
  /** Grows with each taking, by organization. */
  readonly fence: number;
  /** Aborts when the right ended before it was released; its reason is the AppError that says why. It never comes back. */
  readonly lost: AbortSignal;
  /** Why this organization must begin stopped: the database lacks what was committed before a request. Undefined: it lacks nothing. */
  readonly behind: string | undefined;
  /**
   * Whether a request that changes the fleet may be written at this moment, from memory. INVARIANT: asked directly before the bytes go
   * to the socket; a lease that once answered `false` never answers `true` again, and commits nothing any more.
   */
  mayWrite(): boolean;
  /**
   * INVARIANT: called when no request of this actor is under way, since the next one then acts at once. Does not fail: what cannot be
   * released ends by itself.
   */
  release(): Promise<void>;
}

/** How long an actor counts as alive without a heartbeat, and how long the next one waits for its requests to have been written. */
export const LEASE_MS = 10_000;

// Where a database was when something was last about to be sent, kept outside of it.

export interface Position {
  /** Of the cluster: another one has another. */
  system: string;
  /** Grows with each promotion. */
  timeline: number;
  /** Of its log, `HEX/HEX`: everything up to here is on its disk. */
  lsn: string;
  fence: number;
  /** How many commits of acting there were. */
  commits: number;
}

/** Outside of the database, by organization. */
export interface Positions {
  /** Undefined: there is none. Errors: AppError `store_failed`. */
  read(organization: string): Position | undefined;
  /** On the disk when it returns. Errors: AppError `store_failed`. */
  write(organization: string, position: Position): void;
}

/** Why the organization must begin stopped, for its reason; undefined when nothing is missing. */
export function whatIsMissing(recorded: Position | undefined, found: Position): string | undefined {
  if (recorded === undefined) return undefined;
  if (found.system !== recorded.system)
    return `this is another PostgreSQL cluster (${found.system}) than the one that it acted with (${recorded.system}): what was done since the copy was made may be missing`;
  const commits = recorded.commits - found.commits;
  const isBehind = commits > 0 || found.fence < recorded.fence || before(found.lsn, recorded.lsn);
  if (!isBehind) return undefined;
  const where =
    found.timeline === recorded.timeline
      ? `the database was set back to ${found.lsn}`
      : `a replica was promoted (timeline ${recorded.timeline} to ${found.timeline})`;
  return `${where}, and it was at ${recorded.lsn} when something was last sent: ${describe(commits)}`;
}

function describe(commits: number): string {
  if (commits <= 0) return 'commits of acting may be missing';
  return commits === 1 ? 'the last commit of acting is missing' : `the last ${commits} commits of acting are missing`;
}

function before(one: string, other: string): boolean {
  return bytesOf(one) < bytesOf(other);
}

function bytesOf(lsn: string): bigint {
  const [high = '0', low = '0'] = lsn.split('/');
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`);
}

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
