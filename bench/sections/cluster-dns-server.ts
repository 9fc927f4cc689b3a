/** The process under test: an API server with many Services, and the DNS server that follows it. */

import { serviceKind } from '../../src/api/kinds/core/service/kind.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { startClusterDns } from '../../src/cluster-dns/cluster-dns.ts'
import { startControlPlane } from '../../src/testing/control-plane.ts'
import { createServiceNames } from './cluster-dns-names.ts'

const [count = '10000', mode = 'batched'] = process.argv.slice(2)
const PARALLEL = 50

const plane = await startControlPlane({ clock: systemClock })
const services = plane.client.resource(serviceKind).namespace('default')
const names = createServiceNames(Number(count))
for (let at = 0; at < names.length; at += PARALLEL) {
  await Promise.all(
    names
      .slice(at, at + PARALLEL)
      .map(({ service, address }) =>
        services.create({ metadata: { name: service }, spec: { clusterIP: address, ports: [{ port: 80 }] } }),
      ),
  )
}
const dns = await startClusterDns({
  transport: plane.client.transport,
  clock: systemClock,
  random: systemRandom,
  log: silentLogger,
  listen: [{ host: '127.0.0.1', port: 0 }],
  upstreams: [],
  batched: mode === 'batched',
})
console.log(dns.ports[0])
