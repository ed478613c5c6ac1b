// cli: `organizations check`, `organizations list`: about the files of organizations. In: their folder. Out: text or JSON. No database, no API;
// of a credential only whether its file can be read.

import { lineOf } from '../../domain/errors.ts';
import { actionsWith } from '../../engine/act/actions.ts';
import { foldersIn, loadRuleFolder } from '../../rules/active/rule-holder.ts';
import { problemLine } from '../../rules/language/problem.ts';
import {
  credentialDigest,
  credentialFaults,
  loadOrganizations,
  type Organization,
  readOrganizations,
  webhookFaults,
} from '../../runtime/organizations/load-organizations.ts';
import { plural, showHidden, whole } from '../report/fact-text.ts';
import { terminalList } from '../report/terminal-table.ts';
import { type CommonOptions, type Io, lineWidthOf, outputOf, write } from './io.ts';

interface OrganizationsOptions extends CommonOptions {
  organizations?: string;
}

const FORMATS = ['text', 'json'] as const;

function folderOf(io: Io, { organizations }: OrganizationsOptions): string {
  return organizations ?? (io.env.TRUSTWARD_ORGANIZATIONS?.trim() || 'organizations');
}

/** Exit code 1: with every mistake of every file, of the rules that they name, and of credentials that cannot be read. */
export async function organizationsCheckCommand(io: Io, options: OrganizationsOptions): Promise<number> {
  const format = outputOf(options, FORMATS, 'text');
  const folder = folderOf(io, options);
  const { organizations, problems, environment } = await readOrganizations(folder, io.env);
  const others = [
    ...environment,
    ...(await ruleFaults(organizations)),
    ...organizations.flatMap((one) => unreadable(one, io.env)),
    ...sameCredentials(organizations),
  ];
  if (organizations.length + problems.length + others.length === 0)
    others.push(`there is no organization in \`${folder}\`: add a file such as acme.yaml`);
  const ok = problems.length + others.length === 0;
  const lines = [...problems.map(problemLine), ...others];
  const text = ok
    ? `${plural(organizations.length, 'organization')} can be loaded`
    : [...lines, '', `${plural(lines.length, 'mistake')} in \`${folder}\`: nothing is loaded`].join('\n');
  const json = { ok, organizations: organizations.map(({ id }) => id), problems, others };
  write(io, options, format === 'json' ? JSON.stringify(json, null, 2) : text.split('\n').map(showHidden).join('\n'));
  return ok ? 0 : 1;
}

function unreadable(organization: Organization, env: Io['env']): string[] {
  const faults = [...credentialFaults(organization), ...webhookFaults(organization, env)];
  return faults.map((fault) => `${organization.file}: ${fault}`);
}

/** Copied files of credentials: the same file twice is found when the folder is loaded. */
function sameCredentials(organizations: readonly Organization[]): string[] {
  const first = new Map<string, string>();
  return organizations.flatMap((organization) => {
    const digest = credentialDigest(organization);
    if (digest === undefined) return [];
    const key = `${organization.outline.address} ${digest}`;
    const other = first.get(key);
    if (other === undefined) first.set(key, organization.file);
    const what = 'the address and the credential are those of';
    return other === undefined
      ? []
      : [`${organization.file}: ${what} \`${other}\`, in another file: two files would act on one organization`];
  });
}

/** Each set of rules is loaded once, however many organizations have it. */
async function ruleFaults(organizations: readonly Organization[]): Promise<string[]> {
  const sets = new Map<
    string,
    { rulesDir: string; rulesSigners: string | undefined; webhooks: readonly string[]; files: string[] }
  >();
  for (const { file, outline } of organizations) {
    const { rulesDir, rulesSigners, webhooks } = outline;
    const key = JSON.stringify([rulesDir, webhooks]);
    const known = sets.get(key);
    if (known) known.files.push(file);
    else sets.set(key, { rulesDir, rulesSigners, webhooks, files: [file] });
  }
  const faults: string[] = [];
  for (const { rulesDir, rulesSigners, webhooks, files } of sets.values()) {
    try {
      await loadRuleFolder(rulesDir, actionsWith(webhooks), { signers: rulesSigners });
    } catch (error) {
      const [first = '', ...more] = files;
      const whose = more.length === 0 ? first : `${first} and ${more.length} more`;
      faults.push(
        ...lineOf(error)
          .split('\n')
          .map((line) => `${whose}: rules: ${line}`),
      );
    }
  }
  return faults;
}

/** Errors: AppError `config` with every mistake: what is not loaded whole is not listed in part. */
export async function organizationsListCommand(io: Io, options: OrganizationsOptions): Promise<number> {
  const format = outputOf(options, FORMATS, 'text');
  const organizations = await loadOrganizations(folderOf(io, options), io.env);
  const rows = organizations.map((organization) => {
    const { id, name, file, outline } = organization;
    const { address, mode, schedule, rulesDir } = outline;
    const credential = credentialFaults(organization);
    return { id, name, address, mode, schedule, rules: foldersIn(rulesDir), file, credential };
  });
  const cells = rows.map(({ id, name, address, mode, schedule, rules, file, credential }) => [
    whole(id),
    mode,
    schedule,
    address,
    credential.length === 0 ? 'can be read' : credential,
    name,
    file,
    rules,
  ]);
  const head = ['Organization', 'Mode', 'Schedule', 'Address', 'Credential', 'Name', 'File', 'Rules'];
  const text = () => terminalList(head, cells, lineWidthOf(options), ['Rules', 'File', 'Name']);
  const views = rows.map(({ credential, ...row }) => ({
    ...row,
    credential: { ok: credential.length === 0, faults: credential },
  }));
  write(io, options, format === 'json' ? JSON.stringify(views, null, 2) : text());
  return 0;
}
