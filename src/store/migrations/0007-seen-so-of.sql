-- What an episode has seen in the wanted state, by action and target: a rule may wish several, and a change back is told of each.

ALTER TABLE episodes ADD COLUMN seen_so_of TEXT NOT NULL DEFAULT '[]';
UPDATE episodes SET seen_so_of = (
  SELECT json_group_array(DISTINCT action || ' ' || target) FROM decisions
  WHERE decisions.episode_id = episodes.id AND decisions.reason = 'already_so'
) WHERE seen_so = 1;
ALTER TABLE episodes DROP COLUMN seen_so;
