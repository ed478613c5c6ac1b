// test: preloaded into a daemon (`--import`): while the file that READ_ONLY_WHILE names exists, no unit of work can
// write to databases whose file names contain READ_ONLY_NAME.
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import Database from 'better-sqlite3';

const { READ_ONLY_WHILE: flag = '', READ_ONLY_NAME: name = '' } = process.env;
const begin = Database.prototype.transaction;
Database.prototype.transaction = function (this: Database.Database, work: () => unknown) {
  if (basename(this.name).includes(name)) this.pragma(`query_only = ${existsSync(flag) ? 'ON' : 'OFF'}`);
  return begin.call(this, work);
} as typeof begin;
