// act: disable a service: nobody reaches it until it is enabled again.
import type { Action } from '../../domain/action.ts';
import { serviceSwitch } from './service-switch.ts';

export const disableService: Action = { ...serviceSwitch('disable_service', 'FALSE'), stateText: 'disabled' };
