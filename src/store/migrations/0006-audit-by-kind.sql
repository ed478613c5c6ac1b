-- The audit is asked for the last entry of a kind (a stop that was lifted, a plan that was sealed): not by reading all of it.
CREATE INDEX audit_by_kind ON audit (kind);
