-- Where a run's rules came from: a run over another folder than the active one is a what-if.
ALTER TABLE runs ADD COLUMN rules_dir TEXT;
