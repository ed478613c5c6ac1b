// act: enable a service.
import { serviceSwitch } from './service-switch.ts';

export const enableService = serviceSwitch('enable_service', 'TRUE');
