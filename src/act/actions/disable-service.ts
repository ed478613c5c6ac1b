// act: disable a service: nobody reaches it until it is enabled again.
import { serviceSwitch } from './service-switch.ts';

export const disableService = serviceSwitch('disable_service', 'FALSE');
