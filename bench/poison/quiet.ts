// bench: a month in which nobody attacks: weekdays, nights, a rollout, newcomers, leavers, now and then a device that really is compromised. In: a
// plan. Out: every alert that nobody would have wanted.
import { DAY_MS, HOUR_MS, MINUTE_MS, Organization, type Plan } from './organization.ts';

/** Often enough for the comparisons of the gate, seldom enough that a month takes seconds. */
const EVERY_MS = 30 * MINUTE_MS;
/** Of what really happened, or of what waits for a person by design. */
const WANTED = /^(plan_|exemption_)/;
/** The first days of a console whose people have old troubles. */
const SETTLING_MS = 2 * DAY_MS;

export async function quietMonth(plan: Plan, file: string): Promise<string[]> {
  const org = await Organization.begin({ ...plan, everyMs: EVERY_MS }, file);
  const { dice } = org;
  const alarms: string[] = [];
  const rollout = [...org.truth.keys()];
  try {
    for (let passed = 0; passed < SETTLING_MS + 30 * DAY_MS; passed += EVERY_MS) {
      org.ordinary();
      const isDaily = passed % DAY_MS === 10 * HOUR_MS;
      if (isDaily && passed > 10 * DAY_MS)
        for (const id of rollout.splice(0, Math.ceil(org.truth.size / 8)))
          if (org.truth.has(id)) org.write(id, { os: 'macOS 15.6' });
      if (isDaily && dice.chance(0.5)) org.join();
      if (isDaily && dice.chance(0.3)) await org.leave();
      if (isDaily && dice.chance(0.2)) org.trouble();
      const { alerts, run } = await org.run();
      if (passed < SETTLING_MS) continue;
      for (const { code, text } of alerts)
        if (!WANTED.test(code))
          alarms.push(
            `seed ${plan.seed}, day ${Math.floor((passed - SETTLING_MS) / DAY_MS)}, run ${run.seq}: ${code}: ${text}`,
          );
    }
  } finally {
    await org.end();
  }
  return alarms;
}
