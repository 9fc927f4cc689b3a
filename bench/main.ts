import { cpus } from 'node:os'
import { controlLoopsSection } from './control-loops.ts'
import { printRows, type Row, type Section } from './report.ts'
import { clusterDnsSection } from './sections/cluster-dns.ts'
import { containerRuntimeSection } from './sections/container-runtime.ts'
import { createSection } from './sections/create.ts'
import { customResourcesSection } from './sections/custom-resources.ts'
import { fairnessSection } from './sections/fairness.ts'
import { growthSection } from './sections/growth.ts'
import { memorySection } from './sections/memory.ts'
import { nodeSection } from './sections/node.ts'
import { podNetworkSection } from './sections/pod-network.ts'
import { podStartSection } from './sections/pod-start.ts'
import { readSection } from './sections/read.ts'
import { schedulerSection } from './sections/scheduler.ts'
import { securitySection } from './sections/security.ts'
import { serviceProxySection } from './sections/service-proxy.ts'
import { startSection } from './sections/start.ts'
import { storeSection } from './sections/store.ts'
import { userspaceProxySection } from './sections/userspace-proxy.ts'
import { watchSection } from './sections/watch.ts'
import { webhookSection } from './sections/webhook.ts'

/** npm run bench [-- --quick] [section...] */

const SECTIONS: readonly Section[] = [
  startSection,
  storeSection,
  createSection,
  readSection,
  watchSection,
  memorySection,
  growthSection,
  securitySection,
  fairnessSection,
  webhookSection,
  customResourcesSection,
  schedulerSection,
  podNetworkSection,
  containerRuntimeSection,
  podStartSection,
  nodeSection,
  controlLoopsSection,
  serviceProxySection,
  userspaceProxySection,
  clusterDnsSection,
]

const quick = process.argv.includes('--quick')
const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith('-'))
const unknown = wanted.filter((name) => !SECTIONS.some((section) => section.name === name))
if (unknown.length > 0) {
  console.error(`no section ${unknown.join(', ')}: one of ${SECTIONS.map((section) => section.name).join(', ')}`)
  process.exit(2)
}

console.log(
  `Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? 'unknown processor'}${quick ? ', quick run' : ''}`,
)
const failed: string[] = []
for (const section of SECTIONS.filter((entry) => wanted.length === 0 || wanted.includes(entry.name))) {
  let rows: Row[] = []
  try {
    rows = await section.run({ quick })
  } catch (error) {
    failed.push(section.name)
    console.error(`\n${section.title}: ${error instanceof Error ? error.stack : error}`)
  }
  if (rows.length > 0) printRows(section.title, rows)
}
process.exit(failed.length > 0 ? 1 : 0)
