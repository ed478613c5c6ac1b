// The credentials of a configuration that came from files: what each file may have, and where a new one is put in force. In: a configuration,
// and what is to be told of a change. Out: files to read again. The configuration itself has the ones in force.
import type { Config } from '../config/config.ts';
import { isPrintable, isToken } from '../config/secret-text.ts';
import { secretFault, type Webhook } from '../notify/settings.ts';
import type { SecretFile } from './secret-files.ts';

export interface CredentialListeners {
  /** `config.api` has another credential or admin token. */
  api(): void;
  /** The configured token of the HTTP endpoint is another one. */
  token(token: string): void;
}

export function credentialFiles(config: Config, changed: CredentialListeners): SecretFile[] {
  const { api } = config;
  const of = (name: string, one: Omit<SecretFile, 'name' | 'file'>): SecretFile[] => {
    const file = config.secretFiles.get(name);
    return file === undefined ? [] : [{ name: `${name}_FILE`, file, ...one }];
  };
  const credential: Omit<SecretFile, 'name' | 'file'> = {
    current: () => api?.credential.secret ?? '',
    fault: headerFault,
    take: (secret) => {
      if (api) api.credential = { ...api.credential, secret };
      changed.api();
    },
  };
  const adminToken: Omit<SecretFile, 'name' | 'file'> = {
    current: () => api?.adminToken ?? '',
    fault: headerFault,
    take: (secret) => {
      if (api) api.adminToken = secret;
      changed.api();
    },
  };
  const token: Omit<SecretFile, 'name' | 'file'> = {
    current: () => config.token ?? '',
    fault: (secret) => (isToken(secret) ? undefined : 'is not a valid token'),
    take: (secret) => {
      config.token = secret;
      changed.token(secret);
    },
  };
  return [
    ...of('TRUSTWARD_API_KEY', credential),
    ...of('TRUSTWARD_REFRESH_TOKEN', credential),
    ...of('TRUSTWARD_ADMIN_TOKEN', adminToken),
    ...of('TRUSTWARD_TOKEN', token),
    ...[...config.notify.webhooks.values()].flatMap(webhookFile),
  ];
}

function webhookFile(webhook: Webhook): SecretFile[] {
  const { name, secretFile } = webhook;
  if (secretFile === undefined) return [];
  const take = (secret: string) => {
    webhook.secret = secret;
  };
  return [
    {
      name: `the secretFile of webhook \`${name}\``,
      file: secretFile,
      current: () => webhook.secret,
      fault: secretFault,
      take,
    },
  ];
}

function headerFault(secret: string): string | undefined {
  return isPrintable(secret) ? undefined : 'holds characters that are not allowed in a credential';
}
