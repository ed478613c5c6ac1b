-- This function works as the owner of the tables. Nobody but the trigger that the owner made calls it: a role that could put it on a table of its own
-- would write owners of tokens of other organizations with it.
REVOKE EXECUTE ON FUNCTION trustward.note_token_owner() FROM PUBLIC;
