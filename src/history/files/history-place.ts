// history files: where the history of a database is. In: the database's file. Out: a folder beside it.

export function historyFolderOf(database: string): string {
  return `${database}.history`;
}
