// commands: the settings of a new installation, as a file that a shell, systemd (EnvironmentFile=) and people can read.
import { shellWord } from '../domain/shell-word.ts';

export interface InstallationPlaces {
  /** Undefined: the operator has to fill it in. */
  address: string | undefined;
  key: string;
  database: string;
  rules: string;
}

/** Paths are absolute: a command finds the same database from every folder. */
export function environmentFile({ address, key, database, rules }: InstallationPlaces): string {
  return `# Settings of this installation. A shell loads them with \`set -a; . FILE; set +a\`, systemd with EnvironmentFile=.
# \`trustward doctor\` checks them. README.md lists all settings, docs/operating.md their defaults.

# The Management API: the bare base address, without /api/v1.
TRUSTWARD_API_URL=${address === undefined ? '' : shellWord(address)}

# The file that holds the API key, and nothing else. A key that may only read is enough until something is to be changed.
TRUSTWARD_API_KEY_FILE=${shellWord(key)}

# What it keeps, and what it judges by.
TRUSTWARD_DB=${shellWord(database)}
TRUSTWARD_RULES=${shellWord(rules)}

# The most that any rule may do in a daemon or run: dry-run (nothing is changed), approve (what a person approved), enforce.
# dry-run if unset. A rule's own mode counts too, and the rules here begin in dry-run.
#TRUSTWARD_MODE=dry-run

# When the daemon runs (cron), how often it looks at the event log between two runs (0s: never), and where its endpoint listens.
#TRUSTWARD_SCHEDULE='*/5 * * * *'
#TRUSTWARD_WATCH=30s
#TRUSTWARD_LISTEN=127.0.0.1:8080

# What one action may do at most: attempts in a run, and in 24 hours; the larger of a number and a share of the subjects.
#TRUSTWARD_CEILING_RUN=50,5%
#TRUSTWARD_CEILING_DAY=100,10%

# Who is alerted when something needs a person: docs/actions.md, under Webhooks.
#TRUSTWARD_WEBHOOKS=webhooks.yaml
#TRUSTWARD_WEBHOOK_HOSTS=hooks.example.com
#TRUSTWARD_ALERTS_TO=security
`;
}
