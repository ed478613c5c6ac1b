// audit: the key that signs checkpoints, in files beside the database: `<database>.audit-key` (0600) and its public
// half in `<database>.audit-key.pub`. In: file names. Out: keys. It never prints a key, and never replaces one
// silently.
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import { existsSync, readFileSync, renameSync, statSync, truncateSync } from 'node:fs';
import { appendLines, readFirst, readTail, syncFolderOf, writeWhole } from '../../base/files.ts';
import { canonicalJson } from '../../base/json.ts';
import {
  type AuditEnd,
  type AuditEntry,
  type AuditFault,
  GENESIS,
  type JudgeEnd,
  type LinkEntry,
  type SignEntry,
} from '../../domain/audit-entry.ts';
import { type Checkpoint, checkpointHash, checkpointLine, type SealCheckpoint } from '../../domain/checkpoint.ts';
import { AppError } from '../../domain/errors.ts';

// Makes checkpoints, and checks whether a list of them is whole.

/** Keeps these signatures apart from any other use of the key. */
const DOMAIN_SIGNATURE = Buffer.from([0x03]);

/** Public keys by id. More than one after a key was replaced. */
export type PublicKeys = ReadonlyMap<string, KeyObject>;

/** 32 hex digits of the SHA-256 of the public key (SPKI, DER); of a private key: those of its public one. */
export function keyIdOf(key: KeyObject): string {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  const der = publicKey.export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(der).digest('hex').slice(0, 32);
}

/** Signs with an Ed25519 private key. */
function sealWith(privateKey: KeyObject): SealCheckpoint {
  const keyId = keyIdOf(privateKey);
  return (previousLine, { size, head, at, tables, root }) => {
    const previous = previousLine === undefined ? GENESIS : checkpointHash(previousLine);
    const claim = { size, head, at, previous, keyId, tables, root };
    return { ...claim, signature: sign(null, signedBytes(claim), privateKey).toString('base64') };
  };
}

function signedBytes({ size, head, at, previous, keyId, tables, root }: Omit<Checkpoint, 'signature'>): Buffer {
  const claim = { size, head, at, previous, keyId, tables, root };
  return Buffer.concat([DOMAIN_SIGNATURE, Buffer.from(canonicalJson(claim))]);
}

/** The checkpoint of a line; undefined when the line is not exactly the text of one. */
export function parseCheckpoint(line: string): Checkpoint | undefined {
  try {
    const checkpoint = JSON.parse(line) as Checkpoint;
    const isOne =
      Number.isSafeInteger(checkpoint.size) && checkpoint.size > 0 && /^[0-9a-f]{64}$/.test(checkpoint.head);
    return isOne && checkpointLine(checkpoint) === line ? checkpoint : undefined;
  } catch {
    return undefined;
  }
}

/** Why the signature is invalid, in words that follow "checkpoint …"; undefined when it is valid. */
export function signatureFault(checkpoint: Checkpoint, keys: PublicKeys): string | undefined {
  const key = keys.get(checkpoint.keyId);
  if (!key) return `is signed by key ${checkpoint.keyId}, which is not the one given`;
  const isGood = verify(null, signedBytes(checkpoint), key, Buffer.from(checkpoint.signature, 'base64'));
  return isGood ? undefined : 'does not have the signature of its key';
}

export interface CheckpointFault {
  /** How many entries the bad checkpoint covers; for an unreadable one: those of the one before it, plus 1. */
  size: number;
  /** The line's number, when it cannot be read. */
  unreadable?: number;
  reason: string;
}

export interface CheckpointList {
  /** Those before the first bad one. */
  good: Checkpoint[];
  fault: CheckpointFault | undefined;
}

/**
 * Checks a list of lines, oldest first. `partial`: the list may begin in the middle, so the first one's `previous` is
 * not checked. Links are checked for all, signatures where they decide: the last one, and around a broken link.
 */
export function checkCheckpoints(lines: readonly string[], keys: PublicKeys, partial = false): CheckpointList {
  const good: Checkpoint[] = [];
  for (const [index, line] of lines.entries()) {
    const checkpoint = parseCheckpoint(line);
    const before = good.at(-1);
    if (!checkpoint) {
      const size = (before?.size ?? 0) + 1;
      return named(good, keys, { size, unreadable: index + 1, reason: 'cannot be read' });
    }
    const linkFault = index === 0 && partial ? undefined : linkFaultOf(checkpoint, before, lines[index - 1]);
    if (linkFault !== undefined) return named(good, keys, { size: checkpoint.size, reason: linkFault });
    good.push(checkpoint);
  }
  return named(good, keys, undefined);
}

function linkFaultOf(checkpoint: Checkpoint, before: Checkpoint | undefined, lineBefore: string | undefined) {
  if (before && checkpoint.size <= before.size) return `comes after one over ${before.size} entries`;
  const previous = lineBefore === undefined ? GENESIS : checkpointHash(lineBefore);
  return checkpoint.previous === previous ? undefined : 'does not follow the one before it: one was changed or removed';
}

/** The last good one must be signed; if it is not, it was changed, and the one before it is checked too. */
function named(good: Checkpoint[], keys: PublicKeys, fault: CheckpointFault | undefined): CheckpointList {
  let first = fault;
  for (let last = good.at(-1); last; last = good.at(-1)) {
    const reason = signatureFault(last, keys);
    if (reason === undefined) break;
    first = { size: last.size, reason };
    good.pop();
  }
  return { good, fault: first };
}

export function privateKeyFileOf(databaseFile: string): string {
  return `${databaseFile}.audit-key`;
}

export function publicKeyFileOf(databaseFile: string): string {
  return `${databaseFile}.audit-key.pub`;
}

/**
 * The private key; made when neither it nor anything signed by it exists (`hasSigned`: the database or the file outside
 * has checkpoints). `remedy`: what is tried before a backup. Errors: AppError `config` when it is missing, can be read by others, or is
 * not an Ed25519 key.
 */
export function loadOrCreateKey(databaseFile: string, hasSigned: boolean, remedy = ''): KeyObject {
  const file = privateKeyFileOf(databaseFile);
  if (existsSync(file)) {
    const key = readPrivateKey(file);
    if (!existsSync(publicKeyFileOf(databaseFile))) writePublicKey(databaseFile, createPublicKey(key));
    return key;
  }
  if (hasSigned || existsSync(publicKeyFileOf(databaseFile))) {
    throw new AppError(
      'config',
      `the key that signs the audit, \`${file}\`, is missing: ${remedy}restore it from your backup, or make a new one with \`trustward audit new-key --reason …\``,
    );
  }
  return createKey(databaseFile);
}

/** Makes a new key; its public half is added to those in the file, which still verify what they signed. */
export function createKey(databaseFile: string): KeyObject {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  guard(privateKeyFileOf(databaseFile), 'written', (file) => writeWhole(file, pem, 0o600));
  writePublicKey(databaseFile, publicKey);
  return privateKey;
}

/**
 * The public keys of a file: one or several PEM blocks. Errors: AppError `not_found` when it is missing, `config` when it
 * holds no Ed25519 public key.
 */
export function readPublicKeys(file: string): PublicKeys {
  if (!existsSync(file)) {
    throw new AppError('not_found', `the public key \`${file}\` is missing: give a copy of it with --public-key`);
  }
  const text = guard(file, 'read', () => readFileSync(file, 'utf8'));
  const blocks = text.match(/-----BEGIN PUBLIC KEY-----[\s\S]+?-----END PUBLIC KEY-----/g) ?? [];
  const keys = guard(file, 'read', () => blocks.map((pem) => createPublicKey(pem)));
  if (keys.length === 0 || keys.some((key) => key.asymmetricKeyType !== 'ed25519')) {
    throw new AppError('config', `\`${file}\` does not hold an Ed25519 public key (PEM)`);
  }
  return new Map(keys.map((key) => [keyIdOf(key), key]));
}

function readPrivateKey(file: string): KeyObject {
  if ((statSync(file).mode & 0o077) !== 0) {
    throw new AppError(
      'config',
      `\`${file}\` holds the key that signs the audit and can be read by others: run \`chmod 600 ${file}\``,
    );
  }
  const key = guard(file, 'read', () => createPrivateKey(readFileSync(file)));
  if (key.asymmetricKeyType !== 'ed25519') throw new AppError('config', `\`${file}\` does not hold an Ed25519 key`);
  return key;
}

function writePublicKey(databaseFile: string, key: KeyObject): void {
  const pem = key.export({ type: 'spki', format: 'pem' }) as string;
  guard(publicKeyFileOf(databaseFile), 'written', (file) => {
    const others = existsSync(file) ? readFileSync(file, 'utf8') : '';
    writeWhole(file, others + pem, 0o644);
  });
}

function guard<T>(file: string, verb: string, work: (file: string) => T): T {
  try {
    return work(file);
  } catch (error) {
    const code = (error as { code?: unknown }).code ?? 'not a key';
    throw new AppError('config', `the audit key \`${file}\` cannot be ${verb} (${String(code)})`, { cause: error });
  }
}

// The first line of the file of checkpoints: it names the database that the file belongs to, by an id that the database
// has too, and is signed.

interface DatabaseLine {
  /** The id of the database. */
  database: string;
  keyId: string;
  /** Ed25519, base64. */
  signature: string;
}

/** Keeps these signatures apart from those of checkpoints. */
const DOMAIN_DATABASE = Buffer.from([0x04]);

/** Makes the line of a database. */
export function databaseLineWith(privateKey: KeyObject): (database: string) => string {
  const keyId = keyIdOf(privateKey);
  return (database) => {
    const signature = sign(null, signedBytesOfLine({ database, keyId }), privateKey).toString('base64');
    return canonicalJson({ database, keyId, signature });
  };
}

/** Undefined when the line is not exactly the text of one. */
export function parseDatabaseLine(line: string): DatabaseLine | undefined {
  try {
    const { database, keyId, signature } = JSON.parse(line) as DatabaseLine;
    return canonicalJson({ database, keyId, signature }) === line ? { database, keyId, signature } : undefined;
  } catch {
    return undefined;
  }
}

export function isSigned(line: DatabaseLine, keys: PublicKeys): boolean {
  const key = keys.get(line.keyId);
  return key !== undefined && verify(null, signedBytesOfLine(line), key, Buffer.from(line.signature, 'base64'));
}

function signedBytesOfLine({ database, keyId }: Omit<DatabaseLine, 'signature'>): Buffer {
  return Buffer.concat([DOMAIN_DATABASE, Buffer.from(canonicalJson({ database, keyId }))]);
}

/** Keeps the signatures of evidence apart. */
const DOMAIN_EVIDENCE = Buffer.from([0x07]);

/** Signs evidence by the key of a database. Errors: AppError `config` when this account cannot read it. */
export function evidenceSigner(databaseFile: string): (text: string) => string {
  const file = privateKeyFileOf(databaseFile);
  if (!existsSync(file))
    throw new AppError(
      'config',
      `the key that signs the audit, \`${file}\`, is missing: only a database with signed checkpoints gives evidence`,
    );
  const key = guard(file, 'read', () => readPrivateKey(file));
  return (text) => sign(null, Buffer.concat([DOMAIN_EVIDENCE, Buffer.from(text)]), key).toString('base64');
}

/** The public keys of a database as they are written. Errors: AppError `config`. */
export function publicKeyText(databaseFile: string): string {
  const file = publicKeyFileOf(databaseFile);
  return guard(file, 'read', () => readFileSync(file, 'utf8'));
}

// The file of checkpoints outside the database, `<database>.checkpoints`, 0600: a line that names the database, then
// the checkpoints, one line each, oldest first.

export function checkpointFileOf(databaseFile: string): string {
  return `${databaseFile}.checkpoints`;
}

/** What the file shows at a glance. */
export interface Outside {
  isMissing: boolean;
  /** The line that names the database; undefined in a file of an earlier version. */
  named: string | undefined;
  /** The last whole line of a checkpoint. */
  last: string | undefined;
}

export class CheckpointFile {
  constructor(readonly name: string) {}

  /** The whole lines of checkpoints; undefined when the file is missing. Errors: AppError `store_failed`. */
  lines(): string[] | undefined {
    return this.guard('read', () => {
      if (!existsSync(this.name)) return undefined;
      const lines = readFileSync(this.name, 'utf8').split('\n').slice(0, -1);
      return parseDatabaseLine(lines[0] ?? '') ? lines.slice(1) : lines;
    });
  }

  /** Only reads: a torn line stays, since a writer may be at work on it. */
  look(): Outside {
    return this.guard('read', () => {
      const [first, tail] = [readFirst(this.name), readTail(this.name)];
      const named = first !== undefined && parseDatabaseLine(first) ? first : undefined;
      const isName = tail?.last !== undefined && parseDatabaseLine(tail.last) !== undefined;
      return { isMissing: tail === undefined, named, last: isName ? undefined : tail?.last };
    });
  }

  /** Removes a line that a crash tore: it was not acknowledged, so the database still has it, and it is written again. */
  mend(): void {
    this.guard('read', () => {
      const tail = readTail(this.name);
      if (tail && tail.torn !== '') truncateSync(this.name, tail.wholeBytes);
    });
  }

  append(lines: readonly string[]): void {
    this.guard('written', () => appendLines(this.name, lines));
  }

  /** Replaces everything in one step: the line that names the database, and all checkpoints. */
  write(named: string, lines: readonly string[]): void {
    const text = [named, ...lines].map((line) => `${line}\n`).join('');
    this.guard('written', () => writeWhole(this.name, text, 0o600));
  }

  /** Sets the file aside, if there is one, under the returned name. */
  setAside(suffix: string): string | undefined {
    return this.guard('written', () => {
      if (!existsSync(this.name)) return undefined;
      const aside = `${this.name}.${suffix}`;
      renameSync(this.name, aside);
      syncFolderOf(this.name);
      return aside;
    });
  }

  private guard<T>(verb: string, work: () => T): T {
    try {
      return work();
    } catch (error) {
      const code = (error as { code?: unknown }).code ?? (error as Error).message;
      throw new AppError('store_failed', `the checkpoints \`${this.name}\` cannot be ${verb} (${String(code)})`, {
        cause: error,
      });
    }
  }
}

// How entries are linked, and how a chain is verified.

/** Keeps entry hashes apart from any other use of SHA-256 in this product. */
const DOMAIN_ENTRY = 0x01;
/** Domain byte, previous hash, sequence number. */
const HEAD_BYTES = 1 + 32 + 8;

/** Reused for every entry: with one copy and one call per hash, a million take seconds. */
let scratch = Buffer.alloc(64 * 1024);

export const linkEntry: LinkEntry = (prev, seq, bytes) => {
  if (HEAD_BYTES + bytes.length * 3 > scratch.length) scratch = Buffer.alloc((HEAD_BYTES + bytes.length * 3) * 2);
  scratch[0] = DOMAIN_ENTRY;
  let end = 1 + scratch.write(prev, 1, 32, 'hex');
  end = scratch.writeUInt32BE(Math.floor(seq / 2 ** 32), end);
  end = scratch.writeUInt32BE(seq % 2 ** 32, end);
  end += scratch.write(bytes, end, 'utf8');
  return hash('sha256', scratch.subarray(0, end), 'hex');
};

interface ChainVerdict {
  ok: boolean;
  /** Entries verified before the first bad one. */
  entries: number;
  head: string;
  /** The first bad entry and what is wrong with it. */
  bad: { seq: number; reason: string } | undefined;
}

/** Walks a chain entry by entry, from its beginning or from an entry whose hash is known otherwise. */
export class ChainWalk {
  constructor(
    public seq = 0,
    public head = GENESIS,
  ) {}

  /** Why this entry cannot be the next one; undefined when it is, and the walk has moved to it. */
  step(entry: AuditEntry): string | undefined {
    const seq = this.seq + 1;
    const fault = faultOf(entry, seq, this.head);
    if (fault !== undefined) return fault;
    this.seq = seq;
    this.head = entry.hash;
    return undefined;
  }
}

/** Verifies entries in order; stops at the first bad one and names it. Memory: one batch. */
export async function verifyChain(batches: AsyncIterable<AuditEntry[]>): Promise<ChainVerdict> {
  const walk = new ChainWalk();
  for await (const batch of batches) {
    for (const entry of batch) {
      const reason = walk.step(entry);
      if (reason !== undefined)
        return { ok: false, entries: walk.seq, head: walk.head, bad: { seq: walk.seq + 1, reason } };
    }
  }
  return { ok: true, entries: walk.seq, head: walk.head, bad: undefined };
}

function faultOf(entry: AuditEntry, seq: number, prev: string): string | undefined {
  if (typeof entry.bytes !== 'string' || typeof entry.kind !== 'string') return 'its content is not text';
  if (entry.seq !== seq) return `entry ${seq} is missing (the next one is ${entry.seq})`;
  if (entry.prev !== prev) return 'it does not follow the entry before it';
  if (entry.hash !== linkEntry(prev, seq, entry.bytes)) return 'its content does not match its hash';
  return statedFault(entry);
}

/** The columns beside the bytes are for reading; they must agree with the bytes. */
function statedFault(entry: AuditEntry): string | undefined {
  // Canonical members are sorted: `at` comes first, and only a signature comes after `kind`, so most entries need not be parsed.
  const { bytes } = entry;
  const end = `,"kind":"${entry.kind}"`;
  const hasKind = bytes.endsWith(`${end}}`) || bytes.startsWith(end, bytes.lastIndexOf(',"signature":"') - end.length);
  if (hasKind && bytes.startsWith(`{"at":${entry.at},"body":`)) return undefined;
  try {
    const stated = JSON.parse(entry.bytes) as { at?: unknown; kind?: unknown };
    if (stated.at !== entry.at) return 'its time column differs from its content';
    if (stated.kind !== entry.kind) return 'its kind column differs from its content';
    return undefined;
  } catch {
    return 'its content is not JSON';
  }
}

/** Keeps these signatures apart from any other use of the key. */
const DOMAIN_ENTRY_SIGNATURE = Buffer.from([0x05]);

/** Signs with an Ed25519 private key. */
function signEntriesWith(privateKey: KeyObject): SignEntry {
  return (prev, seq, bytes) => sign(null, signedBytesOfEntry(prev, seq, bytes), privateKey).toString('base64');
}

/** Whether one of the keys signed this entry. */
function isSignedBy(keys: PublicKeys, { prev, seq, bytes }: AuditEntry): boolean {
  const [, unsigned, signature] = SIGNED.exec(bytes) ?? [];
  if (unsigned === undefined || signature === undefined) return false;
  const signed = signedBytesOfEntry(prev, seq, `${unsigned}}`);
  return [...keys.values()].some((key) => verify(null, signed, key, Buffer.from(signature, 'base64')));
}

/** INVARIANT: the signature is the last member of an entry: `AuditLog` writes it there. */
const SIGNED = /^(\{.*),"signature":"([A-Za-z0-9+/=]+)"\}$/s;

function signedBytesOfEntry(prev: string, seq: number, bytes: string): Buffer {
  return Buffer.concat([DOMAIN_ENTRY_SIGNATURE, Buffer.from(`${prev}${seq}`), Buffer.from(bytes)]);
}

// Whether the end of a chain is one's own.

/** Each transaction signs its last entry, so the last one of the chain is signed, unless the checkpoint covers it. */
export function judgeEndBy(keys: PublicKeys): JudgeEnd {
  return (end) => {
    const walk = beginOf(end, keys);
    if (walk === undefined) return 'a last checkpoint in the database that its key did not sign';
    const covered = walk.seq;
    const [first] = end.entries;
    if (first?.seq === covered && first.hash !== walk.head) return 'other entries than its last checkpoint covers';
    const later = end.entries.filter(({ seq }) => seq > covered);
    for (const entry of later) {
      const fault = walk.step(entry);
      if (fault !== undefined) return `a broken link after entry ${walk.seq}: ${fault}`;
    }
    const last = later.at(-1);
    if (last === undefined)
      return first?.seq === covered || covered === 0 ? undefined : `fewer than ${covered} entries`;
    if (!end.isSigned || isSignedBy(keys, last)) return undefined;
    return `${last.seq} entries, and the last one is not signed by the key of this database`;
  };
}

/** A walk that begins behind the checkpoint; undefined when nobody can believe the checkpoint. */
function beginOf({ sealed }: AuditEnd, keys: PublicKeys): ChainWalk | undefined {
  if (!sealed) return new ChainWalk();
  const checkpoint = parseCheckpoint(sealed.line);
  if (checkpoint?.size !== sealed.size || signatureFault(checkpoint, keys) !== undefined) return undefined;
  return new ChainWalk(checkpoint.size, checkpoint.head);
}

export interface Signing {
  seal: SealCheckpoint;
  sign: SignEntry;
  judgeEnd: JudgeEnd;
}

export function signingWith(privateKey: KeyObject, publicKeys: PublicKeys): Signing {
  return {
    seal: sealWith(privateKey),
    sign: signEntriesWith(privateKey),
    judgeEnd: judgeEndBy(publicKeys),
  };
}

/** A bad checkpoint among others that may be wrong. How many entries an unreadable one covers is unknown. */
export function faultOfCheckpoint({ size, unreadable, reason }: CheckpointFault): AuditFault {
  if (unreadable === undefined) return { seq: size, checkpoint: size, reason };
  return { seq: size, reason: `or a later one is not covered: checkpoint number ${unreadable} ${reason}` };
}
