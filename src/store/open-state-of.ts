// store: the open state of a few subjects, for deciding them alone: asking about one subject must not read that of the whole fleet.
// In: subjects, targets. Out: the same shape. INVARIANT: every query here is answered by an index
// (test/store/open-state-of.test.ts), and the answer is what `readOpenState` has about them.
import type { Claim } from '../domain/claim.ts';
import type { StoredDecision } from '../domain/decision.ts';
import type { OpenState, OpenStateAbout } from '../domain/store.ts';
import { decisionsOn, episodesInForce, intentsOn, openClaimsOn } from './by-target.ts';
import { OPEN_RULES, readAround, readLastAttempts, readLately } from './open-state.ts';
import { type Db, ofEach, type Work } from './queries.ts';
import { claimOfRow, decisionOfRow } from './rows.ts';

export function* readOpenStateOf(db: Db, nowMs: number, about: OpenStateAbout): Work<OpenState> {
  const episodeIds = yield* openEpisodesOf(db, about);
  const own = {
    claims: yield* ofEach(about.subjects, (id) => openClaimsOf(db, id)),
    decisions: yield* ofEach(about.subjects, (id) => decisionsOf(db, id)),
  };
  const targets = [
    ...new Set([
      ...about.targets,
      ...[...own.claims, ...own.decisions].map(({ target }) => target),
      ...(yield* targetsOfEpisodes(db, episodeIds)),
    ]),
  ].filter((target) => target !== '');
  const claims = unique([...own.claims, ...(yield* ofEach(targets, (target) => openClaimsOn(db, target)))]);
  const decisions = unique([...own.decisions, ...(yield* ofEach(targets, (target) => decisionsOn(db, target)))]);
  const intents = unique(yield* ofEach(targets, (target) => intentsOn(db, target)));
  const restedOn = [...claims, ...decisions, ...intents.flatMap(({ basis }) => basis)];
  const episodes = yield* episodesInForce(db, [...episodeIds, ...restedOn.flatMap(({ episodeId }) => episodeId ?? [])]);
  return {
    episodes,
    claims,
    decisions,
    intents,
    lastAttempts: yield* readLastAttempts(db, targets),
    lately: yield* readLately(db, nowMs, true),
    ...(yield* readAround(db, nowMs)),
  };
}

/** Of every rule, also of one that is missing now: the index has them by rule first, so the rules are looked up one after another. */
function* openEpisodesOf(db: Db, { kinds, subjects }: OpenStateAbout): Work<string[]> {
  const sql = `WITH RECURSIVE ${OPEN_RULES}
    SELECT id FROM episodes WHERE state <> 'closed' AND rule IN (SELECT rule FROM named)
      AND kind IN (SELECT value FROM json_each(?)) AND subject IN (SELECT value FROM json_each(?))`;
  const rows = yield* db.all<{ id: string }>(sql, JSON.stringify(kinds), JSON.stringify(subjects));
  return rows.map(({ id }) => id);
}

function* openClaimsOf(db: Db, subject: string): Work<Claim[]> {
  const sql = "SELECT * FROM claims WHERE subject = ? AND status IN ('standing', 'orphaned')";
  return (yield* db.all(sql, subject)).map(claimOfRow);
}

function* decisionsOf(db: Db, subject: string): Work<StoredDecision[]> {
  const sql = 'SELECT * FROM decisions WHERE subject = ? AND ended_seq IS NULL';
  return (yield* db.all(sql, subject)).map(decisionOfRow);
}

function* targetsOfEpisodes(db: Db, ids: readonly string[]): Work<string[]> {
  const sql =
    'SELECT DISTINCT target FROM intent_episodes WHERE live = 1 AND episode_id IN (SELECT value FROM json_each(?))';
  return (yield* db.all<{ target: string }>(sql, JSON.stringify(ids))).map(({ target }) => target);
}

function unique<T extends { id: string }>(all: readonly T[]): T[] {
  return [...new Map(all.map((one) => [one.id, one])).values()];
}
