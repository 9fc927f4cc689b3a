import { formatTime } from '../../api/meta/time.ts'
import type { ContainerStats, PodSandboxStats } from '../../container-runtime/runtime.ts'
import { podOf, type StatsView } from './stats-collector.ts'

/** /stats/summary, as metrics-server and others read it. */
export function statsSummary(nodeName: string, view: StatsView): object {
  const { sample, rates } = view
  const { node } = sample
  const time = formatTime(node.timestamp)
  const { capacityBytes, availableBytes, inodes, inodesFree } = node.filesystem
  const fs = { time, capacityBytes, availableBytes, usedBytes: capacityBytes - availableBytes, inodes, inodesFree }
  return {
    node: {
      nodeName,
      cpu: { time, ...cpuOf(rates.get('node'), node.cpuNanoseconds) },
      memory: {
        time,
        availableBytes: node.memoryAvailableBytes,
        usageBytes: node.memoryTotalBytes - node.memoryAvailableBytes,
        workingSetBytes: node.memoryWorkingSetBytes,
      },
      network: { time, name: 'eth0', rxBytes: node.network.rxBytes, txBytes: node.network.txBytes },
      fs,
    },
    pods: sample.sandboxes.map((sandbox) => podSummary(sandbox, view)),
  }
}

const cpuOf = (rate: number | undefined, total: number) => ({
  ...(rate !== undefined && { usageNanoCores: rate }),
  usageCoreNanoSeconds: total,
})

function podSummary(sandbox: PodSandboxStats, { sample, rates }: StatsView): object {
  const { name, namespace, uid } = sandbox.metadata
  const time = formatTime(sandbox.timestamp)
  const [first] = sandbox.network
  return {
    podRef: { name, namespace, uid },
    containers: sample.containers
      .filter((one) => podOf(one).uid === uid)
      .map((one) => containerSummary(one, rates.get(one.containerId))),
    cpu: { time, ...cpuOf(rates.get(sandbox.sandboxId), sandbox.cpuNanoseconds) },
    memory: { time, usageBytes: sandbox.memoryUsageBytes, workingSetBytes: sandbox.memoryWorkingSetBytes },
    network: { time, ...first, interfaces: sandbox.network },
    process_stats: { process_count: sandbox.processes },
  }
}

function containerSummary(stats: ContainerStats, rate: number | undefined): object {
  const time = formatTime(stats.timestamp)
  return {
    name: stats.name,
    cpu: { time, ...cpuOf(rate, stats.cpuNanoseconds) },
    memory: {
      time,
      usageBytes: stats.memoryUsageBytes,
      workingSetBytes: stats.memoryWorkingSetBytes,
      rssBytes: stats.memoryRssBytes,
      pageFaults: stats.pageFaults,
      majorPageFaults: stats.majorPageFaults,
    },
    rootfs: { time, usedBytes: stats.filesystemUsedBytes, inodesUsed: stats.filesystemInodesUsed },
  }
}
