import { join } from 'node:path'
import { serviceUnavailable } from '../../api/meta/api-error.ts'
import { systemClock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { systemRandom } from '../../base/random.ts'
import type { Transport } from '../../client/transport.ts'
import { kernelLinux } from '../../linux/kernel-linux.ts'
import { startNodeNetwork } from '../../pod-network/node-network.ts'
import { startServiceProxy } from '../../service-proxy/service-proxy.ts'
import type { NodeSettings } from './node-settings.ts'

/** Takes away the pod network and the rules of Services that a node left in this machine's network when it was killed. */
export async function clearMachineNetwork(settings: NodeSettings, log: Logger): Promise<void> {
  const common = { clock: systemClock, random: systemRandom, log, transport: noApiServer, nodeName: settings.name }
  const linux = kernelLinux()
  const proxy = await startServiceProxy({
    ...common,
    linux,
    mode: settings.proxyMode,
    localDetector: { by: 'cidr', cidrs: settings.clusterCidrs },
    nodeIPs: [settings.address],
    serviceCIDRs: settings.serviceCidrs,
    healthPort: 'none',
  })
  await proxy.cleanup()
  const network = await startNodeNetwork({
    ...common,
    linux,
    backend: settings.network,
    clusterCidr: settings.clusterCidrs.join(','),
    stateDir: join(settings.dataDir, 'network'),
  })
  try {
    await network.cleanup()
  } finally {
    await network[Symbol.asyncDispose]()
  }
}

/** Clearing away needs no API server. */
const noApiServer: Transport = {
  call: () => Promise.reject(serviceUnavailable('no API server is asked')),
  // biome-ignore lint/correctness/useYield: it only throws.
  async *watch() {
    throw serviceUnavailable('no API server is asked')
  },
  async [Symbol.asyncDispose]() {},
}
