import type { ContainerStats } from '../../container-runtime/runtime.ts'
import type { Machine } from '../node/machine.ts'
import { podOf, type StatsSample } from './stats-collector.ts'

/** Writes one metric with its series in the text format. */
function family(name: string, type: string, help: string, series: readonly string[]): string {
  return series.length === 0 ? '' : `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${series.join('\n')}\n`
}

const escaped = (text: string) => text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
const labelled = (name: string, labels: Record<string, string>, value: number, time?: number) =>
  `${name}{${Object.entries(labels)
    .map(([label, text]) => `${label}="${escaped(text)}"`)
    .join(',')}} ${value}${time === undefined ? '' : ` ${Math.round(time)}`}`

const seconds = (nanoseconds: number) => nanoseconds / 1e9

/** /metrics/resource: the few figures that metrics-server needs. */
export function resourceMetrics({ node, containers, sandboxes }: StatsSample): string {
  const of = (name: string, value: (one: ContainerStats) => number) =>
    containers.map((one) => {
      const { namespace, name: pod } = podOf(one)
      return labelled(name, { container: one.name, namespace, pod }, value(one), one.timestamp)
    })
  const pods = (name: string, value: (one: StatsSample['sandboxes'][number]) => number) =>
    sandboxes.map((one) => {
      const { namespace, name: pod } = one.metadata
      return labelled(name, { namespace, pod }, value(one), one.timestamp)
    })
  return [
    family(
      'container_cpu_usage_seconds_total',
      'counter',
      'CPU time that the container has used, in seconds of one core',
      of('container_cpu_usage_seconds_total', (one) => seconds(one.cpuNanoseconds)),
    ),
    family(
      'container_memory_working_set_bytes',
      'gauge',
      'Memory of the container that cannot be reclaimed, in bytes',
      of('container_memory_working_set_bytes', (one) => one.memoryWorkingSetBytes),
    ),
    family('node_cpu_usage_seconds_total', 'counter', 'CPU time that the node has used, in seconds of one core', [
      `node_cpu_usage_seconds_total ${seconds(node.cpuNanoseconds)} ${node.timestamp}`,
    ]),
    family('node_memory_working_set_bytes', 'gauge', 'Memory of the node that cannot be reclaimed, in bytes', [
      `node_memory_working_set_bytes ${node.memoryWorkingSetBytes} ${node.timestamp}`,
    ]),
    family(
      'pod_cpu_usage_seconds_total',
      'counter',
      'CPU time that the pod has used, in seconds of one core',
      pods('pod_cpu_usage_seconds_total', (one) => seconds(one.cpuNanoseconds)),
    ),
    family(
      'pod_memory_working_set_bytes',
      'gauge',
      'Memory of the pod that cannot be reclaimed, in bytes',
      pods('pod_memory_working_set_bytes', (one) => one.memoryWorkingSetBytes),
    ),
    family('resource_scrape_error', 'gauge', 'Whether the figures of this scrape are incomplete (1) or complete (0)', [
      'resource_scrape_error 0',
    ]),
  ].join('')
}

const CONTAINER_SERIES: readonly [string, string, string, (one: ContainerStats) => number][] = [
  ['container_cpu_usage_seconds_total', 'counter', 'CPU time used, in seconds.', (one) => seconds(one.cpuNanoseconds)],
  ['container_memory_usage_bytes', 'gauge', 'Memory used, with caches, in bytes.', (one) => one.memoryUsageBytes],
  [
    'container_memory_working_set_bytes',
    'gauge',
    'Memory used that cannot be reclaimed, in bytes.',
    (one) => one.memoryWorkingSetBytes,
  ],
  ['container_memory_rss', 'gauge', 'Anonymous memory, in bytes.', (one) => one.memoryRssBytes],
  ['container_processes', 'gauge', 'Processes in the container.', (one) => one.processes],
  [
    'container_fs_usage_bytes',
    'gauge',
    'Bytes that the container has written to its file system.',
    (one) => one.filesystemUsedBytes,
  ],
]

/** /metrics/cadvisor: the series that dashboards ask for most. */
export function cadvisorMetrics({ containers, sandboxes }: StatsSample, machine: Machine): string {
  const identity = (one: ContainerStats) => {
    const { namespace, name: pod, uid } = podOf(one)
    return { container: one.name, id: `/kubepods/pod${uid}/${one.containerId}`, name: one.containerId, namespace, pod }
  }
  const text = CONTAINER_SERIES.map(([name, type, help, value]) =>
    family(
      name,
      type,
      help,
      containers.map((one) => labelled(name, identity(one), value(one), one.timestamp)),
    ),
  )
  const network = (name: string, help: string, field: 'rxBytes' | 'txBytes' | 'rxErrors' | 'txErrors') =>
    family(
      name,
      'counter',
      help,
      sandboxes.flatMap(({ metadata, network: interfaces, timestamp, sandboxId }) =>
        interfaces.map((one) =>
          labelled(
            name,
            {
              id: `/kubepods/pod${metadata.uid}`,
              interface: one.name,
              name: sandboxId,
              namespace: metadata.namespace,
              pod: metadata.name,
            },
            one[field],
            timestamp,
          ),
        ),
      ),
    )
  return [
    ...text,
    network('container_network_receive_bytes_total', 'Bytes received by the network interface', 'rxBytes'),
    network('container_network_transmit_bytes_total', 'Bytes sent by the network interface', 'txBytes'),
    network('container_network_receive_errors_total', 'Errors of the network interface when receiving', 'rxErrors'),
    network('container_network_transmit_errors_total', 'Errors of the network interface when sending', 'txErrors'),
    family('machine_cpu_cores', 'gauge', 'Logical CPUs of the node.', [`machine_cpu_cores ${machine.cpus}`]),
    family('machine_memory_bytes', 'gauge', 'Memory of the node, in bytes.', [
      `machine_memory_bytes ${machine.memoryBytes}`,
    ]),
  ].join('')
}
