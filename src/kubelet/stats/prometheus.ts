import type { ContainerStats } from '../../container-runtime/runtime.ts'
import type { Machine } from '../node/machine.ts'
import { podOf, type StatsSample } from './stats-collector.ts'

/** One metric in the text format: its series, with labels and times. */
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
      'Cumulative cpu time consumed by the container in core-seconds',
      of('container_cpu_usage_seconds_total', (one) => seconds(one.cpuNanoseconds)),
    ),
    family(
      'container_memory_working_set_bytes',
      'gauge',
      'Current working set of the container in bytes',
      of('container_memory_working_set_bytes', (one) => one.memoryWorkingSetBytes),
    ),
    family('node_cpu_usage_seconds_total', 'counter', 'Cumulative cpu time consumed by the node in core-seconds', [
      `node_cpu_usage_seconds_total ${seconds(node.cpuNanoseconds)} ${node.timestamp}`,
    ]),
    family('node_memory_working_set_bytes', 'gauge', 'Current working set of the node in bytes', [
      `node_memory_working_set_bytes ${node.memoryWorkingSetBytes} ${node.timestamp}`,
    ]),
    family(
      'pod_cpu_usage_seconds_total',
      'counter',
      'Cumulative cpu time consumed by the pod in core-seconds',
      pods('pod_cpu_usage_seconds_total', (one) => seconds(one.cpuNanoseconds)),
    ),
    family(
      'pod_memory_working_set_bytes',
      'gauge',
      'Current working set of the pod in bytes',
      pods('pod_memory_working_set_bytes', (one) => one.memoryWorkingSetBytes),
    ),
    family('resource_scrape_error', 'gauge', '1 if there was an error while getting container metrics, 0 otherwise', [
      'resource_scrape_error 0',
    ]),
  ].join('')
}

const CONTAINER_SERIES: readonly [string, string, string, (one: ContainerStats) => number][] = [
  [
    'container_cpu_usage_seconds_total',
    'counter',
    'Cumulative cpu time consumed in seconds.',
    (one) => seconds(one.cpuNanoseconds),
  ],
  ['container_memory_usage_bytes', 'gauge', 'Current memory usage in bytes.', (one) => one.memoryUsageBytes],
  ['container_memory_working_set_bytes', 'gauge', 'Current working set in bytes.', (one) => one.memoryWorkingSetBytes],
  ['container_memory_rss', 'gauge', 'Size of RSS in bytes.', (one) => one.memoryRssBytes],
  ['container_processes', 'gauge', 'Number of processes running inside the container.', (one) => one.processes],
  [
    'container_fs_usage_bytes',
    'gauge',
    'Number of bytes that are consumed by the container on this filesystem.',
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
    network('container_network_receive_bytes_total', 'Cumulative count of bytes received', 'rxBytes'),
    network('container_network_transmit_bytes_total', 'Cumulative count of bytes transmitted', 'txBytes'),
    network(
      'container_network_receive_errors_total',
      'Cumulative count of errors encountered while receiving',
      'rxErrors',
    ),
    network(
      'container_network_transmit_errors_total',
      'Cumulative count of errors encountered while transmitting',
      'txErrors',
    ),
    family('machine_cpu_cores', 'gauge', 'Number of logical CPU cores.', [`machine_cpu_cores ${machine.cpus}`]),
    family('machine_memory_bytes', 'gauge', 'Amount of memory installed on the machine.', [
      `machine_memory_bytes ${machine.memoryBytes}`,
    ]),
  ].join('')
}
