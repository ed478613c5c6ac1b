// domain: where a database was when something was last about to be sent, kept outside of it. In: what was recorded, and what the database
// shows. Out: what it lacks. A replica that was promoted without the last commits does not know it.

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
