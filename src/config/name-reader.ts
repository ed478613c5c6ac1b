// Configuration: names, their texts and their secrets. In: the environment. Out: texts, or faults that each name the setting. It never
// repeats a secret, finds all faults, and loads nothing: reading commands need no more.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, isAbsolute } from 'node:path';
import { AppError } from '../domain/errors.ts';
import { isPrintable, secretIn } from './secret-text.ts';

export type Environment = Record<string, string | undefined>;

/**
 * What a configuration is read without, by who does not need it: `secrets`, of files that cannot be read, or only `webhook_secrets`; `webhooks`, all of
 * them, when anything is wrong with one.
 */
export type MayLack = readonly ('secrets' | 'webhook_secrets' | 'webhooks')[];

export interface SettingFault {
  /** Whose value is wrong, or whose values do not go together: the most telling one first. */
  of: string | readonly string[];
  text: string;
}

/** Every mistake of a configuration, one per line. */
export class SettingsError extends AppError {
  constructor(readonly faults: readonly SettingFault[]) {
    super('config', faults.map(faultLine).join('\n'));
  }
}

export function faultLine({ text }: SettingFault): string {
  return `configuration: ${text}`;
}

export class NameReader {
  /** Where secrets were read from, by their names. */
  readonly secretFiles = new Map<string, string>();
  private readonly faults: SettingFault[] = [];
  /** What is missing is no fault then. */
  constructor(
    readonly env: Environment,
    readonly mayLack: MayLack = [],
  ) {}

  fault(of: SettingFault['of'], text: string): void {
    this.faults.push({ of, text });
  }

  /** Errors: SettingsError. */
  finish(): void {
    if (this.faults.length > 0) throw new SettingsError(this.faults);
  }

  text(name: string): string | undefined {
    const value = this.env[name]?.trim();
    return value === '' ? undefined : value;
  }

  /** `NAME`, or the first line of the file that `NAME_FILE` names. */
  secret(name: string): string | undefined {
    const file = this.text(`${name}_FILE`);
    if (file === undefined) return this.printable(name, this.text(name));
    if (this.text(name) !== undefined)
      this.fault([name, `${name}_FILE`], `${name} and ${name}_FILE are both set: set one of them`);
    if (this.mayLack.includes('secrets')) return readable(file, (read) => this.secretFiles.set(name, read));
    try {
      const secret = secretIn(readFileSync(file, 'utf8'));
      this.secretFiles.set(name, file);
      if (!secret) this.fault(`${name}_FILE`, `${name}_FILE: \`${file}\` is empty`);
      return this.printable(`${name}_FILE`, secret);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // A bare word that is no file may be the secret itself.
      if (isPath(file)) this.fault(`${name}_FILE`, `${name}_FILE: \`${file}\` cannot be read (${code})`);
      else
        this.fault(
          `${name}_FILE`,
          `${name}_FILE cannot be read (${code}): give the path of a file that holds the credential`,
        );
      return undefined;
    }
  }

  /** The message never repeats the secret. */
  private printable(name: string, secret: string | undefined): string | undefined {
    if (secret !== undefined && !isPrintable(secret))
      this.fault(name, `${name} holds blanks, line breaks or other characters that are not allowed in a credential`);
    return secret;
  }
}

function readable(file: string, found: (file: string) => void): string | undefined {
  try {
    const secret = secretIn(readFileSync(file, 'utf8'));
    if (!secret || !isPrintable(secret)) return undefined;
    found(file);
    return secret;
  } catch {
    return undefined;
  }
}

/** A path as people write one: from the root, from here, or of a folder that exists. */
function isPath(file: string): boolean {
  return isAbsolute(file) || /^[.~]/.test(file) || (file.includes('/') && existsSync(dirname(file)));
}
