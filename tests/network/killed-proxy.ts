/** A proxy of the mode its arguments name, whose endpoints change without a pause until it is killed. */
import { writeSync } from 'node:fs'
import { kernelLinux } from '../../src/linux/kernel-linux.ts'
import { placementOf, THIS_NODE } from '../../src/service-proxy/packet-flow-objects.contract.ts'
import { openBackend, tableOf } from './flow-outcomes.ts'
import { KILLED_SCENARIOS } from './killed-proxy-scenarios.ts'
import { modeOf, type ProxyVariant } from './proxy-variants.ts'

const [, , variant, namespaceName] = process.argv as [string, string, ProxyVariant, string]
const linux = kernelLinux()
const place = { linux, namespace: linux.namespaces.open(namespaceName) }
const placement = placementOf('IPv4')
const { mode, backends } = modeOf(variant)
const node = { name: 'N', nodeName: THIS_NODE, place }
const backend = openBackend(node, backends[mode]!, KILLED_SCENARIOS[0]!, placement)
await backend.apply(tableOf(KILLED_SCENARIOS[0]!, placement), 'all')
writeSync(1, 'ready\n')
for (let i = 1; ; i++) {
  const table = tableOf(KILLED_SCENARIOS[i % KILLED_SCENARIOS.length]!, placement)
  // Now and then as a process that begins.
  await backend.apply(table, i % 5 === 0 ? 'all' : new Set([...table.ports()].map(({ key }) => key)))
}
