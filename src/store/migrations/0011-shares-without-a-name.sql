-- Shares in which what an older version hid was counted together: they tell nothing of a value, and the trust gate would take
-- the values of today for a fleet that changed. Such a fact is compared again from its next trusted reading on.
UPDATE baselines SET fact_values = (
  SELECT json_group_object(fact.key, json(fact.value)) FROM json_each(baselines.fact_values) AS fact
  WHERE NOT EXISTS (SELECT 1 FROM json_each(fact.value) AS share WHERE share.key = '[dropped]')
) WHERE json_valid(fact_values) AND fact_values LIKE '%"[dropped]"%';
