// explain: evidence of a plan, an intent and a subject: what it holds, how the verifier judges it alone, and how it refuses each edit by name.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canonicalJson } from '../../../src/base/json.ts';
import { asPerson } from '../../../src/domain/actor.ts';
import type { EvidencePack } from '../../../src/domain/evidence.ts';
import { type PackSources, packEvidence, sealedText } from '../../../src/engine/explain/evidence-pack.ts';
import { answerPart, applyPlan } from '../../../src/engine/operate/plans.ts';
import { releaseClaims } from '../../../src/engine/operate/release.ts';
import { evidencePage } from '../../../src/faces/report/html/evidence.tsx';
import { packSources } from '../../../src/runtime/compose/packing.ts';
import { verdictOf, verifyEvidence } from '../../../src/verify-evidence.ts';
import { command } from '../../support/in-process.ts';
import { BAN_COMPROMISED, DISABLE_FAILING, type Organization, startOrganization } from '../../support/organization.ts';

const TWO = 'approvals:\n  - { people: 2, groups: [security], for: { actions: [ban_device] } }\n';
const WHOLE = { rules: [], only: [], except: [] };
const VERIFIER = new URL('../../../src/verify-evidence.ts', import.meta.url).pathname;
const ban = BAN_COMPROMISED.replace('mode: enforce', 'mode: approve\nlimits: { max: 100, percent: 100 }');
const issuer = 'https://id.example.com';
const person = (name: string) => ({
  ...{
    by: asPerson({ email: `${name}@example.com`, sub: name, issuer }),
    groups: ['security'],
    reason: 'looked at it',
  },
});

/** Two bans that two people said yes to. */
async function bannedTwo(): Promise<{ org: Organization; plan: string }> {
  const org = await startOrganization({ devices: 80, rules: { ban, failing: DISABLE_FAILING, approvals: TWO } });
  for (const serial of ['HELD-1', 'HELD-2']) org.console.fleet.addDevice({ serial, mdm_compromised: 'TRUE' });
  const { engine } = org.composition;
  const { run } = await org.run('enforce');
  const plan = run.planId as string;
  for (const name of ['ana', 'ben']) await answerPart(engine, plan, 'approve', WHOLE, person(name));
  await applyPlan(engine, plan, { by: 'ana' });
  await org.run('enforce');
  return { org, plan };
}

const sourcesOf = ({ composition: { config, engine } }: Organization) => packSources(config.database, engine.store);
const made = { at: 1_795_900_000_000, by: 'a test' };

describe('evidence', () => {
  let org: Organization;
  let plan: string;
  let sources: PackSources;
  let pack: EvidencePack;
  let pem: string;
  const packOf = (name: string) => packEvidence(org.composition.engine.store, sources, name, made);
  const verified = (text: string) => verifyEvidence(Buffer.from(text), pem);

  beforeAll(async () => {
    ({ org, plan } = await bannedTwo());
    sources = sourcesOf(org);
    pem = sources.keys();
    pack = await packOf(plan);
  });
  afterAll(() => org.close());

  it('of a plan has who said yes and how, the calls, and the content that they said yes to', () => {
    const kinds = pack.entries.map(({ bytes }) => JSON.parse(bytes).kind);
    const once = ['plan.sealed', 'plan.agreed', 'plan.approved', 'plan.applying', 'intent.sent', 'intent.settled'];
    expect(once.filter((kind) => !kinds.includes(kind))).toEqual([]);
    expect(pack.entries.map(({ bytes }) => bytes).join('')).toContain(
      'ana@example.com (ana at https://id.example.com)',
    );
    const [{ id, meaning }] = pack.plans as [EvidencePack['plans'][0]];
    expect([id, JSON.stringify(meaning)]).toEqual([`plan ${plan}`, expect.stringContaining('"target":"HELD-1"')]);
    const { ok, found } = verified(sealedText(pack, sources.sign));
    expect([ok, found.filter((one) => one.includes(': judged again: match')).length]).toEqual([true, 2]);
  });

  it('of an intent and of a subject says yes, as JSON and as a page with the same inside', async () => {
    const [intent] = await org.composition.engine.store.intents({});
    for (const name of [intent?.id as string, 'HELD-1']) {
      const one = await packOf(name);
      const page = await evidencePage(org.composition.engine.store, one);
      const texts = [sealedText(one, sources.sign), sealedText(one, sources.sign, page)];
      expect(texts.map((text) => verified(text).problems)).toEqual([[], []]);
      const inside = (text: string) => /"entries":.*"format"/.exec(text)?.[0];
      expect(inside(texts[0] as string)).toBe(inside(texts[1] as string));
    }
  });

  it('of a release says yes, and a rule whose text has gone is named as not judged again', async () => {
    const { engine } = org.composition;
    const [claim] = await engine.store.claims({ status: 'standing' });
    await releaseClaims(engine, claim?.target as string, { by: 'ana', reason: 'a drill' });
    await org.run('enforce');
    const gone = { ...sources, rule: async () => undefined };
    const one = await packEvidence(engine.store, gone, claim?.target as string, made);
    const answer = verified(sealedText(one, sources.sign));
    const { ok, found } = answer;
    expect(verdictOf(answer)).toMatch(/^yes: .*, except \d+ that could not be judged again$/);
    expect([ok, one.left[0]]).toEqual([true, expect.stringContaining('is not kept')]);
    expect(found.join()).toContain("NOT judged again, because of the rule's text, which was not kept");
  });

  it('is refused where nothing has that name, and where no checkpoint covers it yet', async () => {
    await expect(packOf('nobody')).rejects.toThrow('nobody');
    const { store } = org.composition.engine;
    const unsealed = { ...store, auditSeal: async () => undefined } as never;
    Object.setPrototypeOf(unsealed, store);
    await expect(packEvidence(unsealed, sources, plan, made)).rejects.toThrow('is not sealed yet: ask again');
  });

  describe('is refused by name', () => {
    type Edit = (copy: EvidencePack) => unknown;
    const entry = (copy: EvidencePack, kind: string) => {
      const found = copy.entries.find(({ bytes }) => bytes.includes(`"kind":"${kind}"`));
      if (!found) throw new Error(`no ${kind}`);
      return found;
    };
    /** Signed again by a stranger, who has no other way. */
    const stranger = generateKeyPairSync('ed25519');
    const strangersPem = stranger.publicKey.export({ type: 'spki', format: 'pem' }) as string;
    const signs = (text: string) => sign(null, Buffer.from(`\u0007${text}`), stranger.privateKey).toString('base64');
    const without =
      (kind: string): Edit =>
      (copy) =>
        copy.entries.splice(copy.entries.indexOf(entry(copy, kind)), 1);
    const edited = (edit: Edit, by: (text: string) => string) => {
      const copy = structuredClone(pack);
      edit(copy);
      return sealedText(copy, by);
    };

    /** Also of whoever could sign the file: each part stands for itself. */
    it.each<[string, Edit, string]>([
      [
        'an approver with another name',
        (copy) => {
          const agreed = entry(copy, 'plan.agreed');
          agreed.bytes = agreed.bytes.replaceAll('ana', 'eve');
        },
        '(plan.agreed) is not what the checkpoint',
      ],
      ['a dropped yes', without('plan.approved'), 'nobody said yes to this content of plan'],
      ['a dropped call', without('intent.sent'), 'has an answer, and its call is missing'],
      ['a dropped beginning of a run', without('run.started'), 'is of a run whose beginning is missing'],
      ['a dropped beginning of applying', without('plan.applying'), 'was called without having been planned'],
      [
        'an entry with another number',
        (copy) => Object.assign(entry(copy, 'plan.sealed'), { seq: 9 }),
        '(plan.sealed) is not what the checkpoint',
      ],
      [
        'a rule with another text, and the digest of that',
        (copy) => {
          const [rule] = copy.rules as [EvidencePack['rules'][number]];
          rule.meaning = { ...rule.meaning, when: { '==': [1, 1] } };
          rule.hash = createHash('sha256').update(canonicalJson(rule.meaning)).digest('hex');
        },
        'rule ban-compromised-device is not the one that an entry names',
      ],
      [
        'a rule with another text',
        (copy) => Object.assign(copy.rules[0] as object, { meaning: { id: 'x' } }),
        'rule ban-compromised-device is not the one that an entry names',
      ],
      [
        'a plan with another target',
        (copy) =>
          Object.assign(copy.plans[0] as object, JSON.parse(JSON.stringify(copy.plans[0]).replace('HELD-1', 'HELD-9'))),
        'is not the one that an entry names',
      ],
      [
        'a checkpoint over other entries',
        (copy) => copy.checkpoints.unshift((copy.checkpoints.shift() as string).replace('"size":', '"size":1')),
        'is not signed by',
      ],
      [
        'a fact that was not so',
        (copy) => {
          const decided = entry(copy, 'decision.made');
          decided.bytes = decided.bytes.replace('"TRUE"', '"FALSE"');
        },
        'does not follow: over the facts as they were seen the condition gives: no match',
      ],
    ])('%s', (_, edit, problem) => {
      const { problems, found } = verified(edited(edit, sources.sign));
      expect([...problems, ...found].join('\n')).toContain(problem);
      const byStranger = verified(edited(edit, signs));
      expect([byStranger.ok, byStranger.problems.at(-1)]).toEqual([
        false,
        expect.stringContaining('is not signed by the key that was given'),
      ]);
    });

    it('what another database signed, one entry of it among these, and what a stranger signed whose key the file names', async () => {
      const other = await bannedTwo();
      try {
        const own = sourcesOf(other.org);
        const theirs = await packEvidence(other.org.composition.engine.store, own, other.plan, made);
        expect(verified(sealedText(theirs, own.sign)).problems.join()).toContain('or that is not the given key');
        const foreign = theirs.entries.find(({ size }) => pack.entries.some((one) => one.size === size));
        const mixed = edited((copy) => copy.entries.push(foreign as (typeof pack.entries)[0]), sources.sign);
        expect(verified(mixed).problems[0]).toContain('it was edited, or is foreign');
      } finally {
        await other.org.close();
      }
      const relinked = edited((copy) => Object.assign(copy, { keys: [strangersPem] }), signs);
      expect(verifyEvidence(Buffer.from(relinked)).problems[0]).toMatch(/^the checkpoint over .* is not signed/);
    });

    it.each<[string, (text: string) => string, string]>([
      [
        'a name that stands twice',
        (text) => text.replace('"format":', '"format":"x","format":'),
        'it is not in its one form',
      ],
      ['white space', (text) => text.replace(',"format"', ', "format"'), 'it is not in its one form'],
      [
        'another order',
        (text) => text.replace(/("about":\{.*?\}),("checkpoints":\[.*?\])/, '$2,$1'),
        'it is not in its one form',
      ],
      [
        'another escape',
        (text) => text.replace('"HELD-1', '"\\u0048ELD-1').replace('plan of', '\\u0070lan of'),
        'it is not in its one form',
      ],
      ['bytes after its end', (text) => `${text}\n`, 'or something was added'],
      ['a byte order mark', (text) => `\ufeff${text}`, 'cannot be read as evidence'],
      ['another version', (text) => text.replace('evidence/1', 'evidence/2'), 'it is no evidence of this version'],
      [
        'another spelling of the signature',
        (text) => text.replace(/.==("\}\n)$/, (end) => `${String.fromCharCode(end.charCodeAt(0) + 1)}${end.slice(1)}`),
        'is not signed by',
      ],
      ['nothing at all', () => '', 'cannot be read as evidence'],
    ])('%s', (_, edit, problem) => {
      const text = sealedText(pack, sources.sign);
      expect(verified(text).ok).toBe(true);
      expect(verified(edit(text)).problems.join('\n')).toContain(problem);
    });
  });

  it('is judged by one file that imports only what Node has, of at most 300 lines', () => {
    const text = readFileSync(VERIFIER, 'utf8');
    const lines = execFileSync('wc', ['-l', VERIFIER], { encoding: 'utf8' }).split(' ')[0];
    process.stdout.write(`the verifier has ${lines} lines (wc -l)\n`);
    expect(Number(lines)).toBeLessThanOrEqual(300);
    const imported = [...text.matchAll(/(?:from|import|require)\s*\(?\s*'([^']+)'/g)].map(([, name]) => name);
    expect(imported).toEqual(['node:crypto', 'node:fs', 'node:url']);
  });

  it('is made and judged by two commands, which name a wrong file and a wrong end of a name', async () => {
    const [out, key] = [join(org.dir, 'held.html'), join(org.dir, 'copy.pub')];
    writeFileSync(key, pem);
    const env = { TRUSTWARD_DB: org.dbFile };
    const madeIt = await command(['evidence', 'HELD-1', '--out', out], env);
    expect([madeIt.code, madeIt.out]).toEqual([0, expect.stringContaining('\nyes: nothing was changed')]);
    expect((await command(['verify-evidence', out, '--key', key], {})).code).toBe(0);
    writeFileSync(out, readFileSync(out, 'utf8').replace('What was decided', 'What was not decided'));
    const refused = await command(['verify-evidence', out, '--key', key], {});
    expect([refused.code, refused.out]).toEqual([1, expect.stringContaining('the file as a whole is not signed')]);
    expect((await command(['evidence', 'HELD-1', '--out', 'held.pdf'], env)).err).toContain(
      'ends with `.json`, or `.html`',
    );
    expect((await command(['verify-evidence', `${out}x`], {})).err).toContain('there is no file');
  });

  it('is judged where nothing of Trustward is but that file', () => {
    const [file, key, alone] = ['plan.json', 'key.pub', 'verify-evidence.mjs'].map((name) => join(org.dir, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(file, sealedText(pack, sources.sign));
    writeFileSync(key, pem);
    const { outputText } = transpiled(readFileSync(VERIFIER, 'utf8'));
    writeFileSync(alone, outputText);
    const run = (...args: string[]) =>
      execFileSync(process.execPath, [alone, ...args], { encoding: 'utf8', cwd: org.dir });
    expect(run(file, '--key', key)).toMatch(/^yes: nothing was changed/);
    writeFileSync(file, readFileSync(file, 'utf8').replace('HELD-1', 'HELD-3'));
    const refused = spawnSync(process.execPath, [alone, '--key', key, file], { encoding: 'utf8' });
    expect([refused.status, refused.stdout]).toEqual([1, expect.stringMatching(/^NO:\n/)]);
  });
});

function transpiled(text: string) {
  return ts.transpileModule(text, {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 },
  });
}
