// console live: services whose backend fails for a while: five or more errors within seconds, and calm after it.
// In: moments. Out: ERROR events of one service at a time, by turns. A disabled service is reached by nobody and does not fail.
import { writeEvent } from '../store/events.ts';
import { resourceEvent } from '../store/happenings.ts';
import { livingServices, serviceOf } from '../store/services.ts';
import type { Life } from './moment.ts';

export function openOutages() {
  const errorsLeft = new Map<string, number>();
  let turn = 0;

  function begin(life: Life): void {
    const services = livingServices(life.store).filter((service) => service.enabled === 'TRUE');
    const service = services[turn % Math.max(1, services.length)];
    turn += 5;
    if (service) errorsLeft.set(service.service_id, life.choices.between(6, 10));
  }

  function goOn(life: Life): void {
    for (const [id, left] of errorsLeft) {
      const service = serviceOf(life.store, id);
      if (service?.enabled === 'TRUE') writeEvent(life.store, resourceEvent(life.store, service, false));
      if (left <= 1 || service?.enabled !== 'TRUE') errorsLeft.delete(id);
      else errorsLeft.set(id, left - 1);
    }
  }

  return { begin, goOn };
}
