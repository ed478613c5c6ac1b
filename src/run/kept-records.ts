// run: what a pass keeps of users and devices for the sources that are read after them. In: records, as they are read. Out: joined records
// with the paths that rules read, and owners that some exemption covers. A fresh attempt begins without them.
import type { Exemptions } from '../decide/exemptions.ts';
import { type Facts, own } from '../domain/facts.ts';
import type { Source } from '../domain/subjects.ts';
import type { Evaluator } from '../domain/verdict.ts';
import { project } from './projection.ts';

export class KeptRecords {
  readonly users = new Map<string, Facts>();
  readonly devices = new Map<string, Facts[]>();
  readonly exemptOwners = new Map<string, Facts>();

  constructor(
    private readonly evaluator: Evaluator,
    private readonly exemptions: Exemptions,
  ) {}

  /** Keeps of a joined record only what some rule reads. */
  joiner(source: Source): ((record: Facts) => void) | undefined {
    const { needs } = this.evaluator;
    if (source === 'users' && needs.owners) {
      this.users.clear();
      const paths = this.evaluator.joinedPaths('users');
      return (record) => keepUser(this.users, record, project(record, paths));
    }
    if (source === 'devices' && needs.devices) {
      this.devices.clear();
      const paths = this.evaluator.joinedPaths('devices');
      const ids = new Map<string, string[]>();
      return (record) => {
        const serial = String(own(record, 'SerialNumber'));
        const id = String(own(record, 'DeviceID'));
        const known = ids.get(serial) ?? [];
        // By id: the order of the list decides nothing.
        const at = known.filter((other) => other <= id).length;
        ids.set(serial, known.toSpliced(at, 0, id));
        this.devices.set(serial, (this.devices.get(serial) ?? []).toSpliced(at, 0, project(record, paths)));
      };
    }
    return undefined;
  }

  /** Keeps users that some exemption covers, to find their devices. */
  exemptKeeper(source: Source): ((record: Facts) => void) | undefined {
    if (source !== 'users' || !this.exemptions.asksForOwnerRecords) return undefined;
    this.exemptOwners.clear();
    return (record) => {
      if (!this.exemptions.concernsUser(record)) return;
      keepUser(this.exemptOwners, record, projectedOwner(record));
    };
  }
}

/** Of two addresses that differ in case alone the greater one counts: the order of the list decides nothing. */
function keepUser(kept: Map<string, Facts>, record: Facts, projected: Facts): void {
  const email = String(own(record, 'Email'));
  const known = kept.get(email.toLowerCase());
  if (known === undefined || String(own(known, 'Email')) <= email) kept.set(email.toLowerCase(), projected);
}

/** What exemptions are compared with. */
export function projectedOwner(record: Facts): Facts {
  return project(record, ['Email', 'Name', 'Groups']);
}
