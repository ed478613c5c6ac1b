// http: the ports of the endpoint: all it knows of the rest of the product. compose.ts provides them.

import type { HostPolicy } from '../../base/hosts.ts';
import type { Performer } from '../../contract/table.ts';
import type { AuditCheck, AuditEntry } from '../../domain/audit-entry.ts';
import type { ChangeWindow } from '../../domain/change-window.ts';
import type { Drift } from '../../domain/check.ts';
import type { TriedRule } from '../../domain/decision.ts';
import type { AnswerStore, Caller } from '../../domain/endpoint-token.ts';
import type { EvidenceReader } from '../../domain/evidence.ts';
import type { MemberReader } from '../../domain/exemption.ts';
import type { Identity, IdentityReader } from '../../domain/identity.ts';
import type { EventSchema, LiveEvent } from '../../domain/live-event.ts';
import type { Operator } from '../../domain/operator.ts';
import type { FreshPasskey, Passkey } from '../../domain/passkey.ts';
import type { PeoplePort } from '../../domain/person-link.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import type { ProgressStep, ReplaysBeside, ReportFormat, WorkProgress } from '../../domain/replay.ts';
import type { Mode, Rule } from '../../domain/rule.ts';
import type { RunTrigger } from '../../domain/run.ts';
import type { SignalReceiving } from '../../domain/signal.ts';
import type { SignalsOut } from '../../domain/signal-stream.ts';
import type { RunRecord } from '../../domain/store.ts';
import type {
  AuditReader,
  PageReader,
  PlanStore,
  PullReader,
  RecordReader,
  ReportReader,
  WorkReader,
} from '../../domain/store-ports.ts';
import type { SubjectRef } from '../../domain/subjects.ts';
import type { RuleTestReport } from '../../domain/verdict.ts';
import type { ExplainedSubject, HistoryLine, TimelinePart, WhyAnswer } from '../../domain/why.ts';
import { baseOf } from './mount.ts';
import { tooOften } from './problem.ts';
import type { Ctx } from './route.ts';
import type { SignIn } from './sign-in.ts';

// How often one token may ask, and how often one address may fail to sign in.

/** Requests of one token in a minute. */
export interface RateLimits {
  reads: number;
  writes: number;
}

/** Of the time of a minute, what may come at once. */
const BURST = 1 / 6;
/** Wrong or missing tokens from one address. A scraper whose token was revoked is still told so. */
const FAILURES_PER_MINUTE = 120;
const KEPT_MAX = 10_000;

const STOPS = new Set(['/api/stop', '/stop']);

export class RateLimit {
  private readonly reads: Buckets;
  private readonly writes: Buckets;
  private readonly failures: Buckets;

  /** @param limits undefined: there are none. */
  constructor(
    clock: Pick<Clock, 'monotonicMs'>,
    private readonly limits: RateLimits | undefined,
  ) {
    this.reads = new Buckets(clock, limits?.reads ?? 0);
    this.writes = new Buckets(clock, limits?.writes ?? 0);
    this.failures = new Buckets(clock, FAILURES_PER_MINUTE);
  }

  /** Errors: Problem 429. */
  demand(context: Ctx): void {
    const { caller } = context.var;
    if (!this.limits || !caller || isStop(context)) return;
    const isRead = context.req.method === 'GET' || context.req.method === 'HEAD';
    // A right that comes from no token is that of a name in its organization.
    const key = caller.token ?? `${baseOf(context)} ${caller.name}`;
    const waitMs = (isRead ? this.reads : this.writes).take(key);
    if (waitMs === 0) return;
    const [perMinute, what] = isRead ? [this.limits.reads, 'reads'] : [this.limits.writes, 'writes'];
    throw tooOften(`a token may send ${perMinute} ${what} in a minute`, waitMs);
  }

  /**
   * Counts a request without a good token. A good one from the same address is never asked here: a proxy has one address for all. Errors:
   * Problem 429.
   */
  countFailure(context: Ctx): void {
    if (!this.limits) return;
    const waitMs = this.failures.take(networkOf(context.env?.incoming?.socket?.remoteAddress ?? ''));
    if (waitMs > 0) throw tooOften('this address sent too many requests without a valid token', waitMs);
  }
}

export function isStop({ req }: Ctx): boolean {
  return req.method === 'POST' && STOPS.has(req.path);
}

/** Who has one IPv6 address has the 2^64 of its network. */
export function networkOf(address: string): string {
  return address.includes(':') && !address.includes('.') ? address.split(':').slice(0, 4).join(':') : address;
}

/** Token buckets: each fills steadily up to its burst, and a request takes one. */
export class Buckets {
  private readonly levels = new Map<string, { level: number; atMs: number }>();

  constructor(
    private readonly clock: Pick<Clock, 'monotonicMs'>,
    private readonly perMinute: number,
    private readonly burst = Math.max(1, Math.round(perMinute * BURST)),
  ) {}

  /** The time until there is one again, ms; 0: it was taken. */
  take(key: string): number {
    const nowMs = this.clock.monotonicMs();
    const { level, atMs } = this.levels.get(key) ?? { level: this.burst, atMs: nowMs };
    const filled = Math.min(this.burst, level + ((nowMs - atMs) * this.perMinute) / 60_000);
    const isThere = filled >= 1;
    // The last one used is the last of the map: the first is forgotten when there are too many.
    this.levels.delete(key);
    this.levels.set(key, { level: isThere ? filled - 1 : filled, atMs: nowMs });
    const [oldest] = this.levels.keys();
    if (this.levels.size > KEPT_MAX && oldest !== undefined) this.levels.delete(oldest);
    return isThere ? 0 : Math.ceil(((1 - filled) * 60_000) / this.perMinute);
  }
}

/** One condition for the daemon to work; `text` is for people and is public. */
export interface ReadyCheck {
  name: string;
  ok: boolean;
  text: string;
  /** What is not ok concerns a part of the work; the rest goes on, so it is ready. */
  isPartial?: true;
}

/** How records are shown that no operation answers with. */
export interface Views {
  /** In chunks, between which others are given way. */
  report(reader: ReportReader, run: RunRecord, format: ReportFormat): AsyncIterable<string>;
  /** The content policy of a report in HTML: what it has, and nothing else. */
  reportFilePolicy(): Promise<string>;
  auditEntry(entry: AuditEntry): object;
  liveEvent(live: LiveEvent): object;
  /** Undefined: the schema has nothing for it. */
  eventIn(schema: EventSchema, entry: AuditEntry, live: LiveEvent | undefined): object | undefined;
}

/** What open streams send, beside the audit: what wakes them, and what ends them. */
export interface StreamSource {
  /** The listener is called after each commit with audit entries. */
  onAudited(listener: () => void): void;
  /** The listener is called with each step of the work under way, and with undefined at its end. */
  onProgress(listener: (progress: WorkProgress | undefined) => void): void;
  /** Aborted when the process is to end. */
  ending: AbortSignal;
}

/** A loaded rule, its file's text as it was loaded, and what its own tests show. */
export interface RuleDetail {
  rule: Rule;
  text: string;
  report: RuleTestReport;
}

/** The run under way. How far it is, is missing until its first step. */
export interface RunUnderWay extends Partial<ProgressStep> {
  run: string;
  seq: number;
  mode: Mode;
  trigger: RunTrigger;
  startedAt: number;
}

/** What is measured of the endpoint, and how all of it is read. */
export interface MetricsPort {
  contentType: string;
  text(): Promise<string>;
  /** `route`: its pattern; undefined when the request reached none. */
  answered(request: { method: string; route: string | undefined; status: number; ms: number }): void;
  /** How many streams are open now. */
  streams(open: number): void;
}

/** What is kept of persons' passkeys. Errors: AppError. */
interface PasskeysPort {
  /** Also those that were removed. */
  all(): Promise<Passkey[]>;
  add(fresh: FreshPasskey, who: Operator): Promise<Passkey>;
  /** `ofOthers`: they may remove those of other persons. */
  remove(id: string, who: Operator, ofOthers: boolean): Promise<void>;
}

export interface HttpDeps {
  reader: RecordReader &
    PageReader &
    IdentityReader &
    MemberReader &
    AuditReader &
    WorkReader &
    Pick<PullReader, 'baseline'> &
    Pick<PlanStore, 'episodes'>;
  views: Views;
  /** What the engine offers. */
  performer: Performer;
  /** The run under way; undefined between two runs. */
  running(): RunUnderWay | undefined;
  /** Every check must be ok for `/readyz` to answer 200. */
  readiness(): Promise<readonly ReadyCheck[]>;
  /**
   * What changed about targets of a plan since it was sealed, and why applying would refuse each now; it waits for 10 s at most. Errors:
   * AppError `not_found`; `usage` for more than `DRIFT_TARGETS_MAX` targets, or one that the plan does not have.
   */
  planDrift(planId: string, targets: readonly string[]): Promise<readonly Drift[]>;
  /** Of requests with an Idempotency-Key. */
  answers: AnswerStore;
  stream: StreamSource;
  /** How many streams there may be now, where several organizations share the places; absent: it has all of them. */
  streamsMax?(): number;
  /** This process makes the runs, and is alone at its database; otherwise workers make them, and there may be other endpoints. */
  isDaemon: boolean;
  /** When the schedule makes the next run, epoch ms; undefined: never. */
  nextRunAtMs(): number | undefined;
  /** The most that anything may do now. */
  daemonMode(): Mode;
  /** All loaded rules, including those of mode `off`. */
  rules(): readonly Rule[];
  /** Why the rules folder was refused when it was last loaded, one line for each problem; undefined: the loaded rules are the folder's. */
  ruleRefusal(): readonly string[] | undefined;
  /** Errors: AppError `not_found`. It gives way while the tests run. */
  ruleDetail(id: string): Promise<RuleDetail>;
  /**
   * What a changed text of this rule would match and do over the present fleet; nothing is sent or kept. It waits for its turn among
   * the runs. Errors: AppError `not_found`; `rules` with a line for each problem of the text; `usage` for another id; `busy`,
   * `stopped`, and those of reading the API.
   */
  tryRule(id: string, text: string, by: string): Promise<TriedRule>;
  /** What rules did, or would have done, over the recorded time. */
  replays: ReplaysBeside;
  /** Errors: AppError `not_found` for a rule or a subject, and those of reading the API. */
  explain(rule: string, subject: string): Promise<ExplainedSubject>;
  /** A subject, or any name of one. Errors: AppError `not_found`, `usage` for a name of several, and those of reading the store. */
  why(of: string | SubjectRef): Promise<WhyAnswer>;
  /** The same, without asking the platform. `unread`: why it is not asked. */
  whyStored(of: SubjectRef, unread: string): Promise<WhyAnswer>;
  /** The newest of what happened to a subject, newest first. */
  history(subject: Pick<Identity, 'kind' | 'id' | 'serial'>, limit: number): Promise<HistoryLine[]>;
  /** The same as of an earlier time, from what was recorded then. Errors: also `not_found` for a time of which nothing is recorded. */
  whyAt?(of: string | SubjectRef, atMs: number): Promise<WhyAnswer>;
  /** The newest of what happened to a subject, and of what changed of its facts, newest first; absent: no history is kept. */
  timeline?(
    subject: Pick<Identity, 'kind' | 'id' | 'serial'>,
    asked: { limit: number; part?: TimelinePart },
  ): Promise<HistoryLine[]>;
  /** Kept evidence of rules; absent: none is kept. */
  evidence?: EvidenceReader;
  /** `seen`: called with the number of the last entry that was read, now and then. */
  verifyAudit(seen?: (seq: number) => void): Promise<AuditCheck>;
  metrics: MetricsPort;
  /** The owner of a bearer token; undefined for an unknown one. */
  verifyToken(token: string): Caller | undefined;
  signIn: SignIn;
  passkeys: PasskeysPort;
  /** Absent: this process takes no signals. */
  signals?: SignalReceiving | undefined;
  /** Of receivers of signals; absent: none is configured. */
  signalsOut?: SignalsOut | undefined;
  /** Of the pages of persons; absent: there are none. */
  people?: PeoplePort | undefined;
  /** TRUSTWARD_PUBLIC_URL, without a slash at its end. */
  publicUrl: string | undefined;
  hosts: HostPolicy;
  /** Change windows, in which nothing acts; absent: none. */
  changeWindows?: readonly ChangeWindow[];
  /** Undefined: no limit. */
  rateLimits: RateLimits | undefined;
  /** Instead of counts of its own: those that it shares with other organizations of the process. */
  rates?: RateLimit;
  clock: Clock;
  log: Log;
  demo: boolean;
}
