// bench: one replay, in a process of its own, so that its memory is its own. In: a folder, a way, how many rules. Out: a line of JSON on standard
// output. As it was: rules that read the same facts and match nobody, as the record has no decisions; what if: rules that ban now and then.

import type { HistoryItem, HistoryReader } from '../../src/domain/recorded-history.ts';
import { ACTIONS } from '../../src/engine/act/actions.ts';
import { Decoder } from '../../src/history/codec/run-encoder.ts';
import { historyReader } from '../../src/history/files/read-items.ts';
import { asItWas } from '../../src/history/replay/as-it-was.ts';
import { whatIf } from '../../src/history/replay/what-if.ts';
import { parseRule } from '../../src/rules/load/read-rule.ts';
import { keepHeapLean } from '../../src/runtime/system/process.ts';
import { ADDRESS } from './month.ts';

const [folder, way, count] = process.argv.slice(2) as [string, 'as_was' | 'what_if' | 'read', string];

const READ = [
  'LoginCount',
  'TrustData.EntityTrustscore',
  'TrustData.AccessTrustscore',
  'Platform',
  'Model',
  'DeviceFriendlyName',
];

/** The first is a rule as people write it; the others read what else there is. */
function textOf(number: number): string {
  const nobody = way === 'as_was' ? [{ '==': [{ var: 'Model' }, 'nobody has it'] }] : [];
  const other = {
    '!=': [{ var: READ[number % READ.length] as string }, number % 6 > 2 ? 'x' : number % 6 === 0 ? -1 : 3],
  };
  const compromised = { '==': [{ var: 'MdmData.CompromisedStatus' }, 'TRUE'] };
  const old = { '>': [{ age: { var: 'LastLogin' } }, `${100 + number}d`] };
  const when = { and: [number % 5 === 4 ? old : compromised, ...(number === 0 ? [] : [other]), ...nobody] };
  const fresh = number % 5 === 4 ? {} : { fresh: { 'MdmData.Timestamp': '45d' } };
  return JSON.stringify({ id: `rule-${number}`, subject: 'device', when, then: 'ban_device', ...fresh });
}

const texts = new Map(
  Array.from({ length: Number(count) }, (_, number) => [`rule-${number}.json`, textOf(number)] as const),
);
const rules = [...texts].map(([file, text]) => {
  const parsed = parseRule(text, file, { traits: ACTIONS });
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  return parsed.rule;
});
const ids = rules.map(({ id }) => id);
const segments = historyReader({ folder, address: ADDRESS, newDecoder: (options) => new Decoder(options) });
const ruleSet = { hash: 'bench', files: texts };

/** The recorded month, as a daemon with these rules would have recorded it. */
const reader: HistoryReader = {
  ...segments,
  ruleSet: async () => ruleSet,
  items: (query) =>
    (async function* (): AsyncIterable<HistoryItem> {
      for await (const item of segments.items(query)) {
        if (item.kind === 'run') Object.assign(item.run.frame, { judged: ids, activeRules: ids });
        yield item;
      }
    })(),
};

// As the commands do that replay.
keepHeapLean();
const asked = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };
const [wall, cpu] = [performance.now(), process.cpuUsage()];
let runs = 0;
let acts = 0;
let differences = 0;
if (way === 'read') {
  for await (const item of reader.items(asked)) if (item.kind === 'run') runs += 1;
} else {
  const replay =
    way === 'as_was'
      ? await asItWas(reader, { ...asked, traits: ACTIONS })
      : await whatIf(reader, rules, { ...asked, actions: ACTIONS });
  runs = replay.runs;
  acts = replay.acts.length;
  differences = replay.differences.length;
}
const { user, system } = process.cpuUsage(cpu);
const figures = {
  runs,
  acts,
  differences,
  wallS: (performance.now() - wall) / 1_000,
  cpuS: (user + system) / 1_000_000,
  peakMb: process.resourceUsage().maxRSS / 1_024,
};
process.stdout.write(`${JSON.stringify(figures)}\n`);
