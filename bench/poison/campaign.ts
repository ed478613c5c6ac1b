// bench: one campaign: a quiet organization is attacked, and the truth judges what the engine did. In: an organization to copy, a kind. Out: what
// was found, by the truth and by what was shown to people; nothing that the engine believes about itself is taken for true.
import { CEILINGS_DEFAULT } from '../../src/domain/action.ts';
import { whyOf } from '../../src/engine/explain/why.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import { type Attack, attackOf, type Kind, type Shown } from './attacks.ts';
import { DAY_MS, diceOf, HOUR_MS, type Lived, type Organization, type TrueDevice } from './organization.ts';

export interface Campaign {
  kind: Kind;
  variant: string;
  /** Bans that were lifted while the device was compromised. */
  lifted: number;
  /** Compromised devices that are neither banned nor held for a person some hours after the attack. */
  free: number;
  /** Clean devices that are still banned by us then. */
  stuck: number;
  /** Calls beyond a rule's limits of one run, or beyond the ceilings. */
  beyond: number;
  /** Clean devices that were banned. */
  misled: number;
  /** Undefined: the attack never came as far as to matter. */
  named: boolean | undefined;
  /** What was not as it should be before it began. */
  void: string | undefined;
  tale: string[];
}

/** A cooldown of an hour and `clear_for` are over well before this. */
const RECOVERY_MS = 3 * HOUR_MS;
const RECOVERY_EVERY_MS = HOUR_MS / 4;
const NAMED_WITHIN = 2;

export async function campaign(
  from: Organization,
  kind: Kind,
  number: number,
  file: string,
  exempt: TrueDevice,
): Promise<Campaign> {
  const org = await from.copy(file, diceOf(from.plan.seed, `${kind} ${number}`));
  try {
    const exempted = org.truth.get(exempt.id) as TrueDevice;
    const attack = attackOf(kind, org, exempted);
    const found = {
      kind,
      variant: attack.variant,
      lifted: 0,
      free: 0,
      stuck: 0,
      beyond: 0,
      misled: 0,
      named: undefined,
      void: undefined,
      tale: [],
    };
    return await new Judged(org, attack, found).play();
  } finally {
    await org.end();
  }
}

class Judged {
  private readonly bans: { atMs: number; byPlan: boolean }[] = [];
  private n = 0;

  constructor(
    private readonly org: Organization,
    private readonly attack: Attack,
    private readonly found: Campaign,
  ) {}

  async play(): Promise<Campaign> {
    const { org, attack, found } = this;
    if (attack.banned) {
      for (const victim of attack.victims) {
        victim.compromised = true;
        org.report(victim.id);
      }
      for (let run = 0; run < 3 && !(await this.areBanned()); run += 1) await this.run();
      if (!(await this.areBanned())) found.void = 'it was not banned before the attack';
    }
    let matters = 0;
    for (let n = 0; n < attack.runs && !found.void; n += 1) {
      org.ordinary();
      const does = await attack.step(n);
      if (does || matters > 0) matters += 1;
      const lived = await this.run(0);
      if (matters > 0 && matters <= NAMED_WITHIN && !found.named) found.named = attack.isNamed(await this.shown(lived));
      else if (matters === 0 && !found.named && attack.isNamed(await this.shown(lived))) found.named = true;
    }
    await attack.end();
    for (let passed = 0; passed < RECOVERY_MS && !found.void; passed += RECOVERY_EVERY_MS)
      await org.acceptIfLost(await this.run(RECOVERY_EVERY_MS));
    if (!found.void) await this.judgeEnd();
    return found;
  }

  /** After `ms` of ordinary life; 0: it was lived already. */
  private async run(ms = this.org.plan.everyMs): Promise<Lived> {
    const { org, found } = this;
    if (ms > 0) org.ordinary(ms);
    const lived = await org.run();
    this.n += 1;
    this.judgeCalls(lived);
    const { devices } = lived.run.findings?.snapshot.sources ?? {};
    const lost = devices && !devices.trusted ? ` distrusts ${devices.reasons.map(({ code }) => code)}` : '';
    const calls = lived.calls.map(
      ({ ban, serial, byPlan }) => ` ${byPlan ? 'plan ' : ''}${ban ? 'bans' : 'unbans'} ${serial}`,
    );
    const alerts = lived.alerts.map(({ code }) => ` alert ${code}`);
    found.tale.push(`run ${this.n}:${lost}${calls.join('')}${alerts.join('')}`);
    return lived;
  }

  private judgeCalls({ calls }: Lived): void {
    const { org, found } = this;
    const bySerial = new Map([...org.truth.values()].map((device) => [device.serial, device]));
    const own = calls.filter(({ byPlan }) => !byPlan);
    for (const { ban, serial } of calls) {
      const device = bySerial.get(serial);
      if (!ban && device?.compromised) found.lifted += 1;
      if (ban && device && !device.compromised) found.misled += 1;
    }
    const bans = own.filter(({ ban }) => ban).length;
    // Two of the shipped rules ban by themselves here, each within its own limits.
    found.beyond += Math.max(0, bans - limitOf(org.plan.rules, org.truth.size));
    for (const { ban, byPlan } of calls) if (ban) this.bans.push({ atMs: org.nowMs, byPlan });
    const day = this.bans.filter(({ atMs }) => org.nowMs - atMs < DAY_MS);
    // `limits.per_day` is twice the limit of a run; a ban of a plan was a person's.
    const unasked = day.filter(({ byPlan }) => !byPlan).length;
    if (bans > 0 && unasked > 2 * limitOf(org.plan.rules, org.truth.size)) found.beyond += 1;
    const lastDay = day.length;
    const ceiling = (of: { max: number; percent: number }) =>
      Math.max(of.max, Math.ceil((org.truth.size * of.percent) / 100));
    if (bans > ceiling(CEILINGS_DEFAULT.run) || (bans > 0 && lastDay > ceiling(CEILINGS_DEFAULT.day)))
      found.beyond += 1;
  }

  private async judgeEnd(): Promise<void> {
    const { org, found, attack } = this;
    for (const victim of attack.victims) {
      const isBanned = await org.isBanned(victim.id);
      const about = await org.on.store.decisions({ subjectIds: [victim.id], limit: 50 });
      const isHeld = about.some(({ decision, endedSeq }) => decision === 'hold' && endedSeq === undefined);
      if (victim.compromised && !isBanned && !isHeld) {
        found.free += 1;
        found.tale.push(
          `free: ${victim.serial}: ${about.map(({ decision, reasonText, endedSeq }) => `${decision} ${reasonText}${endedSeq ? ' (over)' : ''}`).join(' | ')}`,
        );
      }
      const byUs = (await org.on.store.claims({ status: 'standing', subjectId: victim.id })).length > 0;
      const byEvents = attack.victims.length > 2 && found.kind === 'flood';
      if (!victim.compromised && isBanned && !byEvents) {
        found.stuck += 1;
        found.tale.push(`stuck: ${victim.serial}${byUs ? '' : ' without a claim'}`);
      }
    }
  }

  private async areBanned(): Promise<boolean> {
    for (const { id } of this.attack.victims) if (!(await this.org.isBanned(id))) return false;
    return true;
  }

  private async shown(lived: Lived): Promise<Shown> {
    const { on } = this.org;
    const ids = this.attack.victims.map(({ id }) => id);
    const decisions = await on.store.decisions({ subjectIds: ids, inForceIn: lived.run.seq, limit: 500 });
    const deps = { ...on.engine, reader: on.store, rules: this.org.plan.rules as LoadedRule[], isWhatIf: false };
    const why =
      ids.length > 2
        ? []
        : await Promise.all(ids.map((id) => whyOf(deps, { kind: 'device', id }).catch((error) => String(error))));
    const text = JSON.stringify(why, (key, value) =>
      key === 'history' || key === 'record' || key === 'tree'
        ? undefined
        : typeof value === 'bigint'
          ? String(value)
          : value,
    );
    return { ...lived, decisions, why: text };
  }
}

/** So many bans without a person all rules together may make in one run. */
function limitOf(rules: readonly LoadedRule[], devices: number): number {
  const ban = rules.filter(({ mode, text }) => mode === 'enforce' && /^then: ban_device$/m.test(text));
  return ban.reduce((sum, { limits }) => sum + Math.min(limits.max, Math.ceil((devices * limits.percent) / 100)), 0);
}
