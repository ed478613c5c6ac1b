// store: how a process tells others that it appended to the audit of an organization. In: the entries of a commit. Out: one notice of PostgreSQL
// for many commits, a moment later. INVARIANT: not in the transaction of the commit: a transaction with a notice commits alone in the whole
// database, and all units of work would wait for one another. A notice that is lost is made up for by whoever listens, who also looks by itself.
export const CHANNEL = 'trustward_audit';
/** Each is the name of an organization and the first words of the kinds of entries: `acme run token`. */
export const TELL = `SELECT pg_notify('${CHANNEL}', value) FROM unnest($1::text[]) AS value`;
const WITHIN_MS = 100;

export class AuditNotices {
  private readonly waiting = new Map<string, Set<string>>();
  private sending: Promise<void> = Promise.resolve();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly send: (notices: string[]) => Promise<unknown>) {}

  tell(organization: string, notes: readonly { kind: string }[]): void {
    const kinds = this.waiting.get(organization) ?? new Set();
    this.waiting.set(organization, kinds);
    for (const { kind } of notes) kinds.add(kind.split('.')[0] as string);
    this.timer ??= setTimeout(() => void this.flush(), WITHIN_MS);
  }

  /** What waits is sent when this resolves, or lost. Never rejects. */
  flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const notices = [...this.waiting].map(([organization, kinds]) => [organization, ...kinds].join(' '));
    this.waiting.clear();
    if (notices.length > 0)
      this.sending = Promise.all([this.sending, this.send(notices)]).then(
        () => {},
        () => {},
      );
    return this.sending;
  }
}
