// store: the open state of a few subjects, for deciding them alone: asking about one subject must not read that of the whole fleet.
// In: subjects, targets, rules. Out: the same shape. INVARIANT: every query here is answered by an index
// (test/store/open-state-of.test.ts), and the answer is what `readOpenState` has about them.
import type { Claim } from '../domain/claim.ts';
import type { StoredDecision } from '../domain/decision.ts';
import type { OpenState, OpenStateAbout } from '../domain/store.ts';
import { decisionsOn, episodesInForce, intentsOn, openClaimsOn } from './by-target.ts';
import type { Db } from './database.ts';
import { readAround, readLastAttempts } from './open-state.ts';
import { claimOfRow, decisionOfRow } from './rows.ts';

export function readOpenStateOf(db: Db, nowMs: number, about: OpenStateAbout): OpenState {
  const episodeIds = openEpisodesOf(db, about);
  const own = { claims: about.subjects.flatMap((id) => openClaimsOf(db, id)), decisions: decisionsOf(db, about) };
  const targets = [
    ...new Set([
      ...about.targets,
      ...[...own.claims, ...own.decisions].map(({ target }) => target),
      ...targetsOfEpisodes(db, episodeIds),
    ]),
  ].filter((target) => target !== '');
  const claims = unique([...own.claims, ...targets.flatMap((target) => openClaimsOn(db, target))]);
  const decisions = unique([...own.decisions, ...targets.flatMap((target) => decisionsOn(db, target))]);
  const intents = unique(targets.flatMap((target) => intentsOn(db, target)));
  const restedOn = [...claims, ...decisions, ...intents.flatMap(({ basis }) => basis)];
  const episodes = episodesInForce(db, [...episodeIds, ...restedOn.flatMap(({ episodeId }) => episodeId ?? [])]);
  return {
    episodes,
    claims,
    decisions,
    intents,
    lastAttempts: readLastAttempts(db, targets),
    ...readAround(db, nowMs),
  };
}

function openEpisodesOf(db: Db, { kinds, subjects, rules }: OpenStateAbout): string[] {
  const sql = `SELECT id FROM episodes WHERE state <> 'closed' AND kind IN (SELECT value FROM json_each(?))
    AND rule IN (SELECT value FROM json_each(?)) AND subject IN (SELECT value FROM json_each(?))`;
  return db
    .all<{ id: string }>(sql, JSON.stringify(kinds), JSON.stringify(rules), JSON.stringify(subjects))
    .map(({ id }) => id);
}

function openClaimsOf(db: Db, subject: string): Claim[] {
  const sql = "SELECT * FROM claims WHERE subject = ? AND status IN ('standing', 'orphaned')";
  return db.all(sql, subject).map(claimOfRow);
}

function decisionsOf(db: Db, { subjects }: OpenStateAbout): StoredDecision[] {
  const sql = 'SELECT * FROM decisions WHERE subject = ? AND ended_seq IS NULL';
  return subjects.flatMap((subject) => db.all(sql, subject).map(decisionOfRow));
}

function targetsOfEpisodes(db: Db, ids: readonly string[]): string[] {
  const sql =
    'SELECT DISTINCT target FROM intent_episodes WHERE live = 1 AND episode_id IN (SELECT value FROM json_each(?))';
  return db.all<{ target: string }>(sql, JSON.stringify(ids)).map(({ target }) => target);
}

function unique<T extends { id: string }>(all: readonly T[]): T[] {
  return [...new Map(all.map((one) => [one.id, one])).values()];
}
