// What evidence needs beside the store: the rules as decisions were made by them, from the history or, if they are still the same, from their folder;
// and the key that signs. In: which database, its reader. Out: the sources of a pack. Nothing is read before it is asked for.

import type { Database } from '../../domain/database.ts';
import { AppError } from '../../domain/errors.ts';
import type { AuditReader, RecordReader } from '../../domain/store-ports.ts';
import { ACTIONS } from '../../engine/act/actions.ts';
import { evidenceSigner, publicKeyText } from '../../engine/audit/signing-key.ts';
import type { PackSources } from '../../engine/explain/evidence-pack.ts';
import { loadRuleFolder } from '../../rules/active/rule-holder.ts';
import { type LoadedRule, meaningOfRule } from '../../rules/language/loaded-rule.ts';
import { parseRuleSet } from '../../rules/load/read-rule.ts';
import { versionOf } from '../system/process.ts';
import { composeHistory } from './history.ts';

type RunReader = Pick<RecordReader, 'run' | 'latestRun'> & Pick<AuditReader, 'address'>;

export function packSources({ beside }: Pick<Database, 'beside'>, reader: RunReader): PackSources {
  const loaded = new Map<string, LoadedRule[]>();
  const once = async (key: string, load: () => Promise<LoadedRule[]>) => {
    const rules = loaded.get(key) ?? (await load());
    loaded.set(key, rules);
    return rules;
  };
  return {
    by: `Trustward ${versionOf()}`,
    async rule(hash, runId) {
      const run = (runId === undefined ? undefined : await reader.run(runId)) ?? (await reader.latestRun());
      if (!run) return undefined;
      const { ruleSetHash, rulesDir } = run;
      const recorded = await once(`set ${ruleSetHash}`, async () => {
        const set = await composeHistory({ beside }, await reader.address()).ruleSet(ruleSetHash);
        return set ? parseRuleSet(set.files, { traits: ACTIONS }).rules : [];
      });
      const isIt = (rule: LoadedRule) => rule.hash === hash;
      const found = recorded.find(isIt) ?? (rulesDir && (await once(rulesDir, () => rulesIn(rulesDir))).find(isIt));
      return found
        ? { id: `rule ${found.id}`, file: found.file, hash, meaning: meaningOfRule(found), text: found.text }
        : undefined;
    },
    sign: (text) => evidenceSigner(beside)(text),
    keys: () => publicKeyText(beside),
  };
}

/** The present ones, if they can be read: the hash shows whether one is as it was. */
async function rulesIn(dir: string): Promise<LoadedRule[]> {
  try {
    return (await loadRuleFolder(dir, ACTIONS)).rules;
  } catch (error) {
    if (error instanceof AppError) return [];
    throw error;
  }
}
