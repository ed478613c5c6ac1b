// report: evidence as a page for people, which holds the JSON that is verified. In: a pack, the store, which knows the names. Out: what makes the page
// of the JSON. What people read is written from the same entries; the signature covers the page too.

import { timeText } from '../../../base/time.ts';
import { personOf } from '../../../domain/actor.ts';
import { entryBody } from '../../../domain/audit-entry.ts';
import { aboutWords, type EvidencePack } from '../../../domain/evidence.ts';
import { type Facts, isFacts } from '../../../domain/facts.ts';
import { AuditNames, auditSentence, type NamesReader } from '../audit-words.ts';
import { type Block, type Section, words } from '../document.ts';
import { factTexts, plural, whole } from '../fact-text.ts';
import { ShownSection } from './document.tsx';
import { filePieces } from './file.tsx';
import { Words } from './text.tsx';

interface ShownEntry {
  seq: number;
  at: number;
  kind: string;
  body: Facts;
  sentence: string;
}

export async function evidencePage(reader: NamesReader, pack: EvidencePack): Promise<(json: string) => string> {
  const bodies = pack.entries.map(entryBody);
  const names = await AuditNames.of(reader, bodies);
  const entries = pack.entries.map(({ seq, bytes }, index): ShownEntry => {
    const { at, kind } = JSON.parse(bytes);
    const body = bodies[index] as Facts;
    return { seq, at, kind, body, sentence: auditSentence({ kind, body }, names) };
  });
  const title = `Evidence: ${pack.about.text}`;
  const main = (
    <>
      <h1>
        <Words>{title}</Words>
      </h1>
      {sections(pack, entries).map((section) => (
        <ShownSection section={section} isPage={false} />
      ))}
    </>
  );
  return (json) =>
    [...filePieces(title, [String(main), `<script type="application/json" id="evidence">${json}</script>`])].join('');
}

function sections(pack: EvidencePack, entries: readonly ShownEntry[]): Section[] {
  const { about, made, left } = pack;
  const lead = `About ${aboutWords(about)}, made ${timeText(made.at)} by ${made.by}.`;
  const how = 'What is written here can be forged by whoever can write a page. Verify the file before you rely on it:';
  const decided = entries.filter(({ kind }) => kind === 'decision.made');
  const said = entries.filter(({ kind }) => /^plan\.(agreed|approved|rejected|glass_broken)$/.test(kind));
  return [
    {
      title: '',
      blocks: [
        words('lead', lead),
        words('plain', how),
        { is: 'commands', to: 'verify it', commands: ['trustward verify-evidence FILE --key PUBLIC-KEY'] },
        words('wait', ...left),
      ],
    },
    { title: 'What was decided', count: decided.length, blocks: decided.flatMap((one) => decisionBlocks(pack, one)) },
    { title: 'Who said yes', count: said.length, blocks: [approvals(said)] },
    { title: 'What happened', count: entries.length, blocks: [happened(entries)] },
    { title: 'Rules', count: pack.rules.length, blocks: pack.rules.flatMap((rule) => ruleBlocks(rule, entries)) },
    { title: 'What proves it', blocks: proof(pack) },
  ];
}

function decisionBlocks(pack: EvidencePack, { seq, at, body, sentence }: ShownEntry): Block[] {
  const rule = pack.rules.find(({ hash }) => hash === body.ruleHash);
  const shown = factTexts(isFacts(body.facts) ? body.facts : {}, Number(body.asOf ?? at));
  const facts = [
    { name: 'Entry', value: `${seq}, ${timeText(at)}` },
    { name: 'Facts as seen', value: shown.join(', ') || 'none' },
    { name: 'Rule', value: `${body.rule}${rule ? '' : ' (its text is not kept)'}` },
    { name: 'Digest', value: whole(String(body.ruleHash)) },
  ];
  return [words('plain', sentence), { is: 'facts', facts }];
}

function approvals(said: readonly ShownEntry[]): Block {
  if (said.length === 0) return words('quiet', 'Nobody has said yes: the rule acted by itself, or nothing was done.');
  const rows = said.map(({ at, body, sentence }) => [timeText(at), whoOf(body), sentence]);
  return { is: 'table', columns: ['When', 'Who', 'What'], rows };
}

/** With what vouches for the name. */
function whoOf({ by, groups }: Facts): string {
  if (typeof by !== 'string') return 'Trustward';
  const person = personOf(by);
  const of = Array.isArray(groups) && groups.length > 0 ? `; groups: ${groups.join(', ')}` : '';
  return person ? `${person.email} (${person.sub} at ${person.issuer}${of})` : by;
}

function happened(entries: readonly ShownEntry[]): Block {
  const rows = entries.map(({ seq, at, sentence, kind, body }) => [
    String(seq),
    timeText(at),
    kind === 'intent.settled' && typeof body.evidence === 'string' ? [sentence, body.evidence] : sentence,
  ]);
  return { is: 'table', columns: [{ head: 'Entry', isNumber: true }, 'When', 'What'], rows };
}

function ruleBlocks({ file, hash, text }: EvidencePack['rules'][number], entries: readonly ShownEntry[]): Block[] {
  const runs = new Set(entries.flatMap(({ body }) => (body.ruleHash === hash ? [body.run] : [])));
  const signers = entries.filter(({ kind, body }) => kind === 'run.started' && runs.has(body.run ?? null));
  const names = [...new Set(signers.flatMap(({ body }) => body.signedBy ?? []))].map(String);
  const facts = [
    { name: 'File', value: file },
    { name: 'Digest', value: whole(hash) },
    { name: 'Signed by', value: names.join(', ') || 'nobody: no signature was asked for' },
    { name: 'Commit', value: 'not known: Trustward reads the folder, and no repository' },
  ];
  const fold = { title: 'Its file', blocks: text.split('\n').map((line) => words('plain', line)) };
  return [
    { is: 'facts', facts },
    { is: 'folds', folds: [fold], left: 0 },
  ];
}

function proof({ entries, checkpoints }: EvidencePack): Block[] {
  const sealed = checkpoints.map((line) => JSON.parse(line) as { size: number; at: number; keyId: string });
  const keys = [...new Set(sealed.map(({ keyId }) => keyId))];
  const each = `Each of ${plural(entries.length, 'entry', 'entries')} is proven by its hash, and by hashes up to a checkpoint that the key signed.`;
  const rows = sealed.map(({ size, at, keyId }) => [String(size), timeText(at), whole(keyId)]);
  return [
    words('plain', each),
    { is: 'table', columns: [{ head: 'Over entries', isNumber: true }, 'Sealed', 'Key'], rows },
    words('quiet', `Compare the key (${keys.join(', ')}) with a copy that was not kept on the machine of Trustward.`),
  ];
}
