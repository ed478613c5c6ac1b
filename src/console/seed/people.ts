// console seed: end users.
// In: choices and how many. Out: rows. E-mail addresses are unique; names are in many scripts.
import { type EnduserColumns, insertEnduser } from '../store/additions.ts';
import type { ConsoleStore } from '../store/store.ts';
import { FIRST_NAMES, GROUPS, LAST_NAMES, OTHER_NAMES, ROLES } from './names.ts';
import type { Choices } from './random.ts';
import { trustOf, USER_LEVELS } from './trust.ts';
import { agoNs } from './when.ts';

/** Adds people; returns their keys and first names, in order. */
export function seedPeople(store: ConsoleStore, choices: Choices, count: number): { pk: number; firstName: string }[] {
  return Array.from({ length: count }, (_, index) => {
    const first = FIRST_NAMES[index % FIRST_NAMES.length] as string;
    const last = LAST_NAMES[Math.floor(index / FIRST_NAMES.length) % LAST_NAMES.length] as string;
    const round = Math.floor(index / (FIRST_NAMES.length * LAST_NAMES.length));
    const name = index % 16 === 9 ? choices.pick(OTHER_NAMES) : `${first} ${last}`;
    const email = `${ascii(first)}.${ascii(last)}${round === 0 ? '' : round + 1}@${store.org.name}.example`;
    return { pk: insertEnduser(store, personRow(store, choices, email, name)), firstName: first };
  });
}

export function personRow(store: ConsoleStore, choices: Choices, email: string, name: string): EnduserColumns {
  const loginAgoMs = choices.chance(0.03) ? choices.between(91, 200) * 86_400_000 : choices.int(5 * 86_400_000);
  const groups = [
    'Everyone',
    choices.pick(GROUPS.slice(1)),
    ...(choices.chance(0.3) ? [choices.pick(GROUPS.slice(1))] : []),
  ];
  return {
    email,
    name,
    groups: [...new Set(groups)].join(','),
    roles: JSON.stringify(
      choices.chance(0.1)
        ? ['contractor']
        : ['employee', ...(choices.chance(0.2) ? [choices.pick(ROLES.slice(2))] : [])],
    ),
    last_login: agoNs(store, choices, loginAgoMs),
    login_count: choices.between(1, 4_000),
    created_at: agoNs(store, choices, loginAgoMs + choices.between(5, 1_200) * 86_400_000),
    ...trustOf(choices, choices.weigh(USER_LEVELS)),
    trust_updated: agoNs(store, choices, choices.int(86_400_000)),
  };
}

function ascii(name: string): string {
  return name
    .normalize('NFD')
    .replace(/[^A-Za-z]/g, '')
    .toLowerCase();
}
