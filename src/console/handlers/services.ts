// console handlers: registered services.
// In: checked queries and specs. Out: records, or what was done as a `Message`.
import { type Answer, jsonAnswer, textAnswer } from '../answer.ts';
import { Refusal } from '../refusal.ts';
import { deleteService, insertService, listServices, switchService } from '../store/services.ts';
import type { Call } from './call.ts';

export function listServicesHandler({ store, query }: Call<'list_services'>): Answer {
  return textAnswer(`[${listServices(store, query).join(',')}]`);
}

export function insertServiceHandler({ store, actor, body, bodyText }: Call<'insert_service'>): Answer {
  return textAnswer(insertService(store, actor, body, bodyText.trim()));
}

export function deleteServiceHandler({ store, actor, query }: Call<'delete_service'>): Answer {
  if (deleteService(store, actor, query.ServiceID) === 'no_such_service') throw unknownService(query.ServiceID);
  return jsonAnswer({ Message: `the service \`${query.ServiceID}\` was deleted` });
}

export function enableService({ store, actor, query }: Call<'enable_service'>): Answer {
  if (switchService(store, actor, query.ServiceID, 'TRUE') === 'no_such_service') throw unknownService(query.ServiceID);
  return jsonAnswer({ Message: `the service \`${query.ServiceID}\` was enabled` });
}

export function disableService({ store, actor, query }: Call<'disable_service'>): Answer {
  if (switchService(store, actor, query.ServiceID, 'FALSE') === 'no_such_service')
    throw unknownService(query.ServiceID);
  return jsonAnswer({ Message: `the service \`${query.ServiceID}\` was disabled` });
}

function unknownService(serviceId: string): Refusal {
  return new Refusal(400, `\`ServiceID\` matches no service: \`${serviceId}\``);
}
