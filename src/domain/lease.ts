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
