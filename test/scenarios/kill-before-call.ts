// test: preloaded into a run (`--import`): the process kills itself exactly between the commit of `sent` and the call.
import { ManagementClient } from '../../src/platform/client.ts';

const ban = ManagementClient.prototype.updateDevices;
ManagementClient.prototype.updateDevices = function (serialNumber, devices) {
  if (serialNumber === process.env.KILL_BEFORE) process.kill(process.pid, 'SIGKILL');
  return ban.call(this, serialNumber, devices);
};
