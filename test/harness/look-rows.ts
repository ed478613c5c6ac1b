// harness: the rows that a look at the event log may or may not change. In: the database, seen from below. Out: counts and contents. It changes
// nothing.
import { type Plan, releasedRule } from '../../src/domain/plan.ts';
import type { Ledger } from './ledger.ts';

export interface EndedCounts {
  episodes: number;
  claims: number;
  plans: number;
}

export class LookRows {
  constructor(private readonly ledger: Ledger) {}

  runCount(): number {
    return this.count('SELECT count(*) AS n FROM runs');
  }

  eventIds(): ReadonlySet<string> {
    return new Set(this.ledger.db.all<{ id: string }>('SELECT id FROM events').map(({ id }) => id));
  }

  /** What only whole runs and people end; a person's reversal is seen by looks too. */
  ended(): EndedCounts {
    return {
      episodes: this.count("SELECT count(*) AS n FROM episodes WHERE state = 'closed'"),
      claims: this.count("SELECT count(*) AS n FROM claims WHERE status NOT IN ('standing', 'overridden')"),
      plans: this.count("SELECT count(*) AS n FROM plans WHERE status = 'superseded'"),
    };
  }

  /** What is in two plans of live runs that wait for an answer. After a jump of the clock an expired one is still stored as pending. */
  sealedTwice(nowMs: number): string[] {
    const pending = this.ledger.db.all<{ id: string }>(
      "SELECT id FROM plans WHERE status = 'pending' AND mode <> 'dry-run' AND expires_at > ?",
      nowMs,
    );
    const all = pending.map(({ id }) => this.ledger.plan(id) as Plan).filter((plan) => !releasedRule(plan));
    const keys = all.flatMap(({ intents }) => intents.map(({ key }) => key));
    return keys.filter((key, at) => keys.indexOf(key) !== at);
  }

  /** Episodes, claims and notices as they are. */
  openThings(): string {
    const tables = ['episodes', 'claims', 'notices'];
    return JSON.stringify(tables.map((table) => this.ledger.db.all(`SELECT * FROM ${table}`)));
  }

  /** Decisions, intents and plans that a run made, intents of earlier runs that it tried once more, also when nothing could be sent, and its calls. */
  changesOf(run: string): number {
    const sql = `SELECT (SELECT count(*) FROM decisions WHERE run_seq = runs.seq OR ended_seq = runs.seq)
      + (SELECT count(*) FROM intents WHERE run_id = runs.id) + (SELECT count(*) FROM plans WHERE run_id = runs.id)
      + (SELECT count(*) FROM audit WHERE kind = 'intent.reopened' AND json_extract(bytes, '$.body.run') = runs.id)
      AS n FROM runs WHERE id = ?`;
    const sent = [...this.ledger.intents.values()].filter((life) => life.sent.length > 0 && life.run === run);
    return this.count(sql, run) + sent.length;
  }

  private count(sql: string, ...given: string[]): number {
    return Number(this.ledger.db.get<{ n: number }>(sql, ...given)?.n);
  }
}
