/** One machine with a node of real containers, for behaviours that the conformance suite looks at in pods. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { Container, ContainerStatus, Pod, PodSpec } from '../../src/api/generated/core-v1.ts'
import { eventually, Machine } from '../tools/machine.ts'

export const IMAGE = 'sampan.local/host'
const HAS_ENDED = ['Succeeded', 'Failed']

export class ConformanceNode {
  readonly machine = new Machine()

  static async up(...args: readonly string[]): Promise<ConformanceNode> {
    const node = new ConformanceNode()
    try {
      await node.machine.up(...args)
    } catch (error) {
      await node[Symbol.asyncDispose]()
      throw error
    }
    return node
  }

  /** All pods of the namespace, by name, with one question. */
  async pods(namespace = 'default'): Promise<Map<string, Pod>> {
    const { items } = JSON.parse(await this.kubectl('get', 'pods', '-n', namespace, '-o', 'json')) as { items: Pod[] }
    return new Map(items.map((pod) => [pod.metadata.name ?? '', pod]))
  }

  async pod(name: string): Promise<Pod> {
    return JSON.parse(await this.kubectl('get', 'pod', name, '-o', 'json')) as Pod
  }

  until(name: string, isRight: (pod: Pod) => boolean, seconds = 60): Promise<Pod> {
    return eventually(() => this.pod(name), isRight, seconds)
  }

  /** Resolves once all these pods have run to their end. */
  async ended(names: readonly string[], seconds = 90): Promise<Map<string, Pod>> {
    const running = (pods: Map<string, Pod>) =>
      names.filter((name) => !HAS_ENDED.includes(pods.get(name)?.status?.phase ?? ''))
    const look = () => this.pods()
    try {
      return await eventually(look, (pods) => running(pods).length === 0, seconds)
    } catch {
      const pods = await look()
      const left = running(pods).map((name) => `${name}: ${JSON.stringify(pods.get(name)?.status?.containerStatuses)}`)
      throw new Error(`did not end in ${seconds} s:\n${left.join('\n')}\n${await this.kubectl('get', 'events')}`)
    }
  }

  /** What a container wrote, from the file that the kubelet keeps. */
  log(pod: string, container = 'main', life = 0, namespace = 'default'): string {
    const logs = `${this.machine.dataDir}/nodes/node-1/kubelet/log/pods`
    const folder = readdirSync(logs).find((name) => name.startsWith(`${namespace}_${pod}_`))
    return textOf(readFileSync(`${logs}/${folder}/${container}/${life}.log`, 'utf8'))
  }

  kubectl(...args: readonly string[]): Promise<string> {
    return this.machine.kubectl(...args)
  }

  /** Runs a command in a pod; both of its streams. */
  exec(pod: string, ...command: readonly string[]): Promise<string> {
    return this.kubectl('exec', pod, '--', ...command)
  }

  apply(...objects: readonly object[]): Promise<void> {
    return this.machine.apply(...objects)
  }

  /** Any method to what begins with `prefix`, as the administrator; redirects are told, not followed. */
  async proxy(prefix: string): Promise<(method: string, rest: string) => Promise<{ status: number; text: string }>> {
    const config = async (path: string) => this.kubectl('config', 'view', '--raw', '-o', `jsonpath={${path}}`)
    const file = async (name: string, path: string) => {
      const place = `${this.machine.folder}/${name}`
      writeFileSync(place, Buffer.from(await config(path), 'base64'), { mode: 0o600 })
      return place
    }
    const server = await config('.clusters[0].cluster.server')
    const as = [
      ...['--cacert', await file('ca.pem', '.clusters[0].cluster.certificate-authority-data')],
      ...['--cert', await file('admin.pem', '.users[0].user.client-certificate-data')],
      ...['--key', await file('admin.key', '.users[0].user.client-key-data')],
    ]
    return async (method, rest) => {
      const how = method === 'HEAD' ? ['--head', '-o', '/dev/null'] : ['-X', method]
      const said = await this.machine.must(
        ...['curl', '-s', '-m', '10', ...as, ...how, '-w', '\n%{http_code}', `${server}${prefix}${rest}`],
      )
      const end = said.lastIndexOf('\n')
      return { status: Number(said.slice(end + 1)), text: said.slice(0, end) }
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.machine[Symbol.asyncDispose]()
  }
}

/** The text of a log in the format of the CRI; P marks a part of a line. */
export function textOf(log: string): string {
  let text = ''
  for (const [, tag, line] of log.matchAll(/^\S+ (?:stdout|stderr) (\S+) (.*)$/gm))
    text += tag === 'P' ? line : `${line}\n`
  return text
}

export const sh = (script: string, more: Partial<Container> = {}): Container => ({
  name: 'main',
  image: IMAGE,
  command: ['sh', '-c', script],
  ...more,
})

/** A pod that runs once, unless it says otherwise, and goes at once when it is told to. */
export const pod = (
  name: string,
  containers: Container | Container[],
  spec: Partial<PodSpec> = {},
  more: object = {},
) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, ...more },
  spec: {
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: 1,
    containers: [containers].flat(),
    ...spec,
  },
})

export const configMap = (name: string, data: Record<string, string>, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
  ...more,
})

export const secret = (name: string, stringData: Record<string, string>, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  stringData,
  ...more,
})

export const statusOf = ({ status }: Pod, container = 'main'): Partial<ContainerStatus> =>
  [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])].find(
    ({ name }) => name === container,
  ) ?? {}

export const conditionOf = ({ status }: Pod, type: string) => status?.conditions?.find((one) => one.type === type)
export const isReady = (one: Pod) => conditionOf(one, 'Ready')?.status === 'True'
