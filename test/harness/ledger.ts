// harness: what the database had committed, and when in true time: read from the audit chain after each commit and before
// each request is judged. It sees the store from below, past any wrapper, and changes nothing.
import type { AuditEntry } from '../../src/domain/audit-entry.ts';
import type { Outcome } from '../../src/domain/decision.ts';
import type { Claim } from '../../src/domain/episode.ts';
import type { Intent } from '../../src/domain/intent.ts';
import type { Plan, PlannedIntent } from '../../src/domain/plan.ts';
import type { Row } from '../../src/store/queries.ts';
import { CLAIM, INTENT, planOfRow } from '../../src/store/rows.ts';
import type { SqliteDb } from '../../src/store/sqlite/database.ts';
import { storedJson } from '../../src/store/stored-json.ts';
import type { PlatformRequest } from './platform.ts';
import type { SimClock } from './sim-clock.ts';

/** One intent's life according to the audit and the platform. */
export interface IntentLife {
  id: string;
  action: string;
  target: string;
  /** True times of its `intent.sent` entries. */
  sent: number[];
  /** The number of the latest of them. */
  sentSeq: number;
  /** The rules that the latest of them names. */
  rules: string[];
  /** The runs that the latest and the first of them name. */
  run: string;
  firstRun: string;
  requests: PlatformRequest[];
  settled: { atMs: number; outcome: Outcome }[];
  /** True times at which an operator allowed one more attempt. */
  allowed: number[];
  /** The true time at which an operator said that it was done. */
  saidDoneMs?: number;
}

/** An exemption according to the audit, in true time. */
export interface ToldExemption {
  /** Such as `device d1` or `SerialNumber = S-1`. */
  about: string;
  fromMs: number;
  toMs: number;
}

/** An approval according to the audit. */
export interface ToldApproval {
  plan: string;
  /** The plan of which it is a part. */
  partOf: string | undefined;
}

export interface WholeRun {
  id: string;
  /** By the engine's wall clock. */
  startedAt: number;
}

interface EntryBody {
  plan?: string;
  partOf?: string;
  intent?: string;
  action?: string;
  target?: string;
  outcome?: Outcome;
  rules?: string[];
  as?: string;
  by?: string;
  released?: boolean;
  run?: string;
  intents?: string[];
  exemption?: string;
  about?: string;
  source?: string;
}

export class Ledger {
  readonly intents = new Map<string, IntentLife>();
  readonly exemptions = new Map<string, ToldExemption>();
  /** True time since which everything is stopped. */
  stoppedAtMs: number | undefined;
  /** Released targets, with the true time of each. */
  readonly released: { target: string; atMs: number }[] = [];
  /** Sources whose acceptance waits for the next reading. */
  readonly accepted = new Set<string>();
  /** By intent: the plan that lets its next attempt go; an intent that a run tries once more has one of its own, or none. */
  readonly letBy = new Map<string, string>();
  /** Not judged yet. */
  readonly approvals: ToldApproval[] = [];
  private seq = 0;

  constructor(
    readonly db: SqliteDb,
    private readonly clock: SimClock,
  ) {}

  /** Reads what was committed since; returns the intents that it settled. */
  follow(): IntentLife[] {
    const settled: IntentLife[] = [];
    for (const entry of this.db.all('SELECT * FROM audit WHERE seq > ? ORDER BY seq', this.seq)) {
      const { seq, kind, bytes } = entry as unknown as AuditEntry;
      this.seq = seq;
      const { body } = JSON.parse(bytes) as { body: EntryBody };
      this.followSteering(kind, body);
      if (kind !== 'intent.sent' && kind !== 'intent.settled') continue;
      const life = this.lifeOf(body);
      if (kind === 'intent.sent') {
        life.sent.push(this.clock.trueMs);
        life.sentSeq = seq;
        life.rules = body.rules ?? [];
        life.run = body.run ?? '';
        life.firstRun ||= life.run;
      }
      if (kind === 'intent.settled' && body.outcome) {
        life.settled.push({ atMs: this.clock.trueMs, outcome: body.outcome });
        settled.push(life);
      }
    }
    return settled;
  }

  private followSteering(kind: AuditEntry['kind'], body: EntryBody): void {
    const { trueMs: nowMs } = this.clock;
    const { exemption = '', about = '', target = '', source = '' } = body;
    if (kind === 'snapshot.accepted') this.accepted.add(source);
    if (kind === 'baseline.accepted' || kind === 'notice') this.accepted.delete(source);
    if (kind === 'plan.approved') this.approvals.push({ plan: body.plan ?? '', partOf: body.partOf });
    if (kind === 'plan.applying') for (const id of body.intents ?? []) this.letBy.set(id, body.plan ?? '');
    if (kind === 'intent.settled') this.letBy.delete(body.intent ?? '');
    if (kind === 'stop.set') this.stoppedAtMs ??= nowMs;
    if (kind === 'stop.lifted') this.stoppedAtMs = undefined;
    if (kind === 'exemption.added')
      this.exemptions.set(exemption, { about, fromMs: nowMs, toMs: Number.POSITIVE_INFINITY });
    // One that somebody wrote beside the engine has no beginning here.
    const ended = kind === 'exemption.ended' ? this.exemptions.get(exemption) : undefined;
    if (ended) ended.toMs = nowMs;
    // On a new request, a release that was not done is attempted again.
    const isAgain = kind === 'intent.planned' && body.released && this.intents.has(body.intent ?? '');
    if (isAgain || (kind === 'intent.resolved' && body.as === 'retry')) this.lifeOf(body).allowed.push(nowMs);
    if (kind === 'intent.resolved' && body.as === 'done') this.lifeOf(body).saidDoneMs = nowMs;
    const isRelease =
      kind === 'claim.released' || body.released || (kind === 'episode.overridden' && body.by !== undefined);
    if (isRelease) this.released.push({ target, atMs: nowMs });
  }

  /** The intent that is committed as under way for this action and target: the latest, if several. */
  underWay(action: string, target: string): Intent | undefined {
    const sql =
      "SELECT * FROM intents WHERE status = 'sent' AND action = ? AND target = ? ORDER BY sent_at DESC, id DESC";
    const row = this.db.get(sql, action, target);
    return row && INTENT.nounOf(row);
  }

  /** All that are under way. */
  sent(): Intent[] {
    return this.db.all("SELECT * FROM intents WHERE status = 'sent'").map(INTENT.nounOf);
  }

  intent(id: string): Intent | undefined {
    const row = this.db.get('SELECT * FROM intents WHERE id = ?', id);
    return row && INTENT.nounOf(row);
  }

  unsettled(): Intent[] {
    return this.db.all("SELECT * FROM intents WHERE status IN ('planned', 'sent')").map(INTENT.nounOf);
  }

  /** Live ones that no mode allows: of a dry run, or dry themselves. What a person approved is not bound by the run. */
  openedInDryRuns(): Intent[] {
    const sql = `SELECT intents.* FROM intents JOIN runs ON runs.id = intents.run_id
      WHERE intents.status IN ('planned', 'sent') AND intents.approved = 0
        AND (intents.mode = 'dry-run' OR runs.mode = 'dry-run' OR runs.daemon_mode = 'dry-run')`;
    return this.db.all(sql).map(INTENT.nounOf);
  }

  withOutcome(outcome: Outcome): Intent[] {
    return this.db.all('SELECT * FROM intents WHERE outcome = ?', outcome).map(INTENT.nounOf);
  }

  openClaims(target: string): Claim[] {
    return this.db
      .all("SELECT * FROM claims WHERE target = ? AND status IN ('standing', 'orphaned')", target)
      .map(CLAIM.nounOf);
  }

  /** The newest completed run over all rules and subjects. */
  lastWholeRun(): WholeRun | undefined {
    const sql = "SELECT id, started_at FROM runs WHERE status = 'completed' AND scoped = 0 ORDER BY seq DESC LIMIT 1";
    const row = this.db.get<{ id: string; started_at: number }>(sql);
    return row && { id: row.id, startedAt: row.started_at };
  }

  newestRun(): string | undefined {
    return this.db.get<{ id: string }>('SELECT id FROM runs ORDER BY seq DESC LIMIT 1')?.id;
  }

  /** The run whose count of attempts this one continues: its own, or that of the last whole run. */
  countedRun(run: string): string {
    return this.db.get<{ id: string }>('SELECT coalesce(counts_with, id) AS id FROM runs WHERE id = ?', run)?.id ?? run;
  }

  /** The open episode of a rule and subject, as stored. */
  openEpisode(rule: string, subject: string): Row | undefined {
    return this.db.get("SELECT * FROM episodes WHERE rule = ? AND subject = ? AND state <> 'closed'", rule, subject);
  }

  /** The live intents of an episode. */
  liveIntents(episode: string): Intent[] {
    return this.db
      .all(
        'SELECT * FROM intents WHERE id IN (SELECT intent_id FROM intent_episodes WHERE episode_id = ? AND live = 1)',
        episode,
      )
      .map(INTENT.nounOf);
  }

  /** What a person saw and sealed. */
  plan(id: string): Plan | undefined {
    const row = this.db.get('SELECT * FROM plans WHERE id = ?', id);
    return (
      row &&
      planOfRow(
        row,
        storedJson<(PlannedIntent | number)[]>(row.intents).map((one) => this.intentOf(one)),
      )
    );
  }

  /** An intent of a plan, or the one of a row that plans share. */
  private intentOf(one: PlannedIntent | number): PlannedIntent {
    if (typeof one !== 'number') return one;
    return storedJson(
      this.db.get<{ content: string }>('SELECT content FROM planned_intents WHERE no = ?', one)?.content,
    );
  }

  isRejected(episode: string): boolean {
    return this.db.get('SELECT 1 AS found FROM rejected_intents WHERE episode_id = ?', episode) !== undefined;
  }

  baselineCount(source: string): number | undefined {
    return this.db.get<{ count: number }>('SELECT count FROM baselines WHERE source = ?', source)?.count;
  }

  /** Attempts in the audit, of one action, since a time of the engine's wall clock. */
  attemptsSince(action: string, wallMs: number): number {
    const sql = 'SELECT count(*) AS n FROM attempts WHERE action = ? AND sent_at >= ? AND refused = 0';
    return Number(this.db.get<{ n: number }>(sql, action, wallMs)?.n);
  }

  private lifeOf({ intent = '', action = '', target = '' }: EntryBody): IntentLife {
    const known = this.intents.get(intent);
    if (known) return known;
    const life: IntentLife = {
      id: intent,
      action,
      target,
      sent: [],
      sentSeq: 0,
      rules: [],
      run: '',
      firstRun: '',
      requests: [],
      settled: [],
      allowed: [],
    };
    this.intents.set(intent, life);
    return life;
  }
}
