-- Who has said yes to a plan that more than one person is asked about, and what it waits for. Null: nobody has.
ALTER TABLE plans ADD COLUMN agreed text COLLATE "C";
