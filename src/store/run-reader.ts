// store: runs, what came of them, and names, as reports and short lists read them, over any connection. In: ids, filters. Out:
// nouns. It loads little, so that a short command starts soon; reader.ts has the rest of the reading half.
import type { StoredDecision } from '../domain/decision.ts';
import type { IdentityReader, NamedIdentity, PresentPrints, SelectedIdentities } from '../domain/identity.ts';
import type { Intent } from '../domain/intent.ts';
import type { Stop } from '../domain/operator.ts';
import { type Plan, statusAt } from '../domain/plan.ts';
import type { Clock } from '../domain/ports.ts';
import type { PrintKey } from '../domain/print-bits.ts';
import type { EndedDecision, EndedKey, PlanFilter, RecordReader, RunReader } from '../domain/record-reader.ts';
import type { ComparedRun, Run, RunCounts, RunMatches, RunQuery, RunTallies } from '../domain/run.ts';
import type { DecisionQuery, RunRecord } from '../domain/store.ts';
import type { SubjectKind } from '../domain/subjects.ts';
import { rowByPrefix } from './by-prefix.ts';
import { comparedRun, decisionsEnded, endedDecisions, matchesOfRuns } from './compared-runs.ts';
import { identitiesNamed, identitiesSelected } from './identities.ts';
import { inForceIn } from './in-force.ts';
import { countsOfRun, newestDecisions, newestPlans, newestRuns } from './lists.ts';
import { readStop } from './operator.ts';
import { hasText, intentsOfPlan } from './planned-intents.ts';
import { presentIdentities } from './present-identities.ts';
import { readPrintKey } from './print-key.ts';
import type { Db, Row } from './queries.ts';
import { readInTurns } from './read-in-turns.ts';
import { decisionOfRow, intentOfRow, planOfRow, runOfRow } from './rows.ts';
import { newestRuleTallies } from './rule-tallies.ts';
import { Where } from './where.ts';

export class SqlRunReader implements RunReader, IdentityReader {
  constructor(
    protected readonly db: Db,
    protected readonly clock: Clock,
  ) {}

  /** INVARIANT: an id that begins with a digit begins with 0, so that a run's number is never the beginning of an id. */
  async run(idOrNumber: string): Promise<RunRecord | undefined> {
    const row = /^[1-9]\d{0,14}$/.test(idOrNumber)
      ? await this.db.reading(this.db.get('SELECT * FROM runs WHERE seq = ?', Number(idOrNumber)))
      : await this.db.reading(rowByPrefix(this.db, 'runs', idOrNumber));
    return row && runOfRow(row);
  }

  async latestRun(): Promise<RunRecord | undefined> {
    return (await this.runsOverLists(1))[0];
  }

  async runs(limit: number, before?: number): Promise<RunRecord[]> {
    const rows = await this.db.reading(
      this.db.all(
        'SELECT * FROM runs WHERE seq < ? ORDER BY seq DESC LIMIT ?',
        before ?? Number.MAX_SAFE_INTEGER,
        limit,
      ),
    );
    return rows.map(runOfRow);
  }

  async runsOverLists(limit: number): Promise<RunRecord[]> {
    const newest = `SELECT seq FROM runs ${this.db.dialect.by('runs_over_lists')} WHERE counts_with IS NULL AND seq < ? ORDER BY seq DESC LIMIT ?`;
    return (
      await this.db.reading(
        this.db.all(`SELECT * FROM runs WHERE seq IN (${newest}) ORDER BY seq DESC`, Number.MAX_SAFE_INTEGER, limit),
      )
    ).map(runOfRow);
  }

  async runLines(query: RunQuery): Promise<Run[]> {
    return await this.db.reading(newestRuns(this.db, query));
  }

  async ruleTallies(limit: number): Promise<RunTallies[]> {
    return newestRuleTallies(this.db, limit);
  }

  async countsOfRun(run: Pick<Run, 'seq' | 'id'>): Promise<RunCounts> {
    return await this.db.reading(countsOfRun(this.db, run));
  }

  async decisionsOfRun(run: RunRecord): Promise<StoredDecision[]> {
    const columns =
      'id, decision, rule, target, subject, octet_length(facts) + octet_length(effect) + octet_length(subject_name) AS bytes';
    const { sql, values } = inForceIn(this.db.dialect, run, columns);
    const found = await this.db.reading(
      this.db.all<{ id: string; bytes: number }>(
        `SELECT id, bytes FROM ${sql}
       ORDER BY CASE decision WHEN 'act' THEN 0 WHEN 'hold' THEN 1 ELSE 2 END, rule, target, subject, id`,
        ...values,
      ),
    );
    const named =
      'SELECT decisions.* FROM json_each(?) JOIN decisions ON decisions.id = json_each.value ORDER BY json_each.key';
    return readInTurns(found, async (ids) =>
      (await this.db.reading(this.db.all(named, JSON.stringify(ids)))).map(decisionOfRow),
    );
  }

  async comparedRun(run: Run): Promise<ComparedRun | undefined> {
    return await this.db.reading(comparedRun(this.db, run));
  }

  async decisionsEnded(between: Parameters<RecordReader['decisionsEnded']>[0]): Promise<EndedKey[]> {
    return await this.db.reading(decisionsEnded(this.db, between));
  }

  async endedDecisions(ids: readonly string[]): Promise<EndedDecision[]> {
    return endedDecisions(this.db, ids);
  }

  async matchesOfRuns(upToSeq: number, runsMax: number): Promise<RunMatches[]> {
    return matchesOfRuns(this.db, upToSeq, runsMax);
  }

  async decisions(query: DecisionQuery): Promise<StoredDecision[]> {
    return await this.db.reading(newestDecisions(this.db, query));
  }

  async intents(filter: Parameters<RecordReader['intents']>[0]): Promise<Intent[]> {
    const where = new Where();
    where.add('status = ?', filter.status);
    where.add('outcome = ?', filter.outcome);
    where.add('target = ?', filter.target);
    where.add('id IN (SELECT value FROM json_each(?))', filter.ids && JSON.stringify(filter.ids));
    where.add(
      'id IN (SELECT intent_id FROM intent_episodes WHERE live = 1 AND episode_id IN (SELECT value FROM json_each(?)))',
      filter.liveFor && JSON.stringify(filter.liveFor),
    );
    return (
      await this.db.reading(this.db.all(`SELECT * FROM intents ${where.text} ORDER BY created_at, id`, ...where.values))
    ).map(intentOfRow);
  }

  async plan(idOrPrefix: string): Promise<Plan | undefined> {
    const row = await this.db.reading(rowByPrefix(this.db, 'plans', idOrPrefix));
    return row && this.planNow(row);
  }

  async plans({ status, naming, before }: PlanFilter, limit: number): Promise<Plan[]> {
    const plans: Plan[] = [];
    // As texts they are in the JSON: a plan of 10,000 intents is only read as such when it has one of them.
    const texts = naming?.map((name) => JSON.stringify(name));
    for (const row of await this.db.reading(newestPlans(this.db, status, this.clock.nowMs(), limit, { before }))) {
      if (texts === undefined || (await this.db.reading(hasText(this.db, row, texts))))
        plans.push(await this.planNow(row));
    }
    return plans;
  }

  private async planNow(row: Row): Promise<Plan> {
    const plan = planOfRow(row, await intentsOfPlan(this.db, row));
    return { ...plan, status: statusAt(plan, this.clock.nowMs()) };
  }

  async stop(): Promise<Stop | undefined> {
    return await this.db.reading(readStop(this.db));
  }

  async identitiesNamed(text: string): Promise<NamedIdentity[]> {
    return await this.db.reading(identitiesNamed(this.db, text));
  }

  async identitiesSelected(field: string, value: string): Promise<SelectedIdentities | undefined> {
    return await this.db.reading(identitiesSelected(this.db, field, value));
  }

  async presentPrints(kind: SubjectKind, key: PrintKey): Promise<PresentPrints> {
    return (await presentIdentities(this.db, kind, key)).prints;
  }

  /** Undefined in a database that no run of a version with such a key has read for. */
  async printKey(): Promise<PrintKey | undefined> {
    return await this.db.reading(readPrintKey(this.db));
  }

  async close(): Promise<void> {
    await this.db.close();
  }

  /** When the newest completed run over lists ended, epoch ms. By the order of runs, since the clock may have jumped. */
  async lastCompletedAt(): Promise<number | undefined> {
    const sql =
      "SELECT finished_at FROM runs WHERE status = 'completed' AND counts_with IS NULL ORDER BY seq DESC LIMIT 1";
    return (await this.db.reading(this.db.get<{ finished_at: number }>(sql)))?.finished_at;
  }
}
