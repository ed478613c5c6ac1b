// commands: a name that may mean several things, or that a user chose, at a terminal: a person chooses or confirms. In: what was typed.
// Out: an id or a serial number instead, or the same text where nobody can be asked: then what changes something is refused later.
import { composeReader } from '../compose/reader.ts';
import type { Database } from '../domain/database.ts';
import { AppError } from '../domain/errors.ts';
import { isChosenName, type Named, resolveName } from '../domain/resolve-name.ts';
import type { SubjectKind } from '../domain/subjects.ts';
import { showHidden } from '../report/index.ts';
import type { SqlReader } from '../store/reader.ts';
import { type CommonOptions, databaseOf, type Io } from './io.ts';

/** `confirms`: false where nothing is changed. Errors: AppError `usage` when the person chooses none. */
export async function chosenName(
  io: Io,
  options: CommonOptions,
  name: string,
  kinds: readonly SubjectKind[],
  { confirms = true } = {},
): Promise<string> {
  const { ask } = io;
  if (!ask) return name;
  const reader = await readerOf(databaseOf(io, options));
  if (!reader) return name;
  try {
    const resolved = await resolveName(reader, name, { kinds });
    if (resolved.found === 'several') return identifierOf(await choose(ask, name, resolved.among));
    if (confirms && resolved.found === 'one' && isChosenName(resolved.named)) {
      const { named } = resolved;
      const answer = await ask(`\`${showHidden(name)}\` is a name: ${showHidden(named.text)}. Is it meant? [y/N] `);
      if (!/^y(es)?$/i.test(answer.trim())) throw new AppError('usage', 'nothing was changed');
      return identifierOf(named);
    }
    return name;
  } finally {
    await reader.close();
  }
}

/** Without a database that can be read, the command itself reports it. */
function readerOf(database: Database): Promise<SqlReader | undefined> {
  return composeReader(database).catch(() => undefined);
}

async function choose(ask: NonNullable<Io['ask']>, name: string, among: readonly Named[]): Promise<Named> {
  const lines = among.map(({ text }, index) => `  ${index + 1}  ${showHidden(text)}`);
  const answer = await ask([`\`${showHidden(name)}\` may mean:`, ...lines, 'Which one? '].join('\n'));
  const chosen = /^\d{1,4}$/.test(answer.trim()) ? among[Number(answer) - 1] : undefined;
  if (!chosen) throw new AppError('usage', 'none was chosen: nothing was changed');
  return chosen;
}

function identifierOf({ by, target, subjects: [{ id }] }: Named): string {
  return by === 'id' ? id : (target ?? id);
}
