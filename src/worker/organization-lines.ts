// worker: the organizations as people choose from them, each with what keeps it from being worked for. In: the organizations. Out: lines, from memory:
// whether credentials can be read is looked at when it is asked to.
import type { OrganizationLine } from '../http/index.ts';
import { credentialFaults } from '../organizations/environment.ts';
import type { Organizations } from './organizations.ts';

export class OrganizationLines {
  private problems = new Map<string, string>();

  constructor(private readonly organizations: Organizations) {
    this.look();
  }

  now(): OrganizationLine[] {
    return this.organizations.all().map(({ id, name }) => ({ id, name, problem: this.problems.get(id) }));
  }

  look(): void {
    const all = this.organizations.holder?.all() ?? [];
    const found = all.map((one) => [one.id, credentialFaults(one).join('; ')] as const);
    this.problems = new Map(found.filter(([, fault]) => fault !== ''));
  }
}
