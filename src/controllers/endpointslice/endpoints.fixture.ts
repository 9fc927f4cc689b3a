import type { Node, Pod, Service } from '../../api/generated/core-v1.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { serviceKind } from '../../api/kinds/core/service/kind.ts'
import type { Client } from '../../client/client.ts'

export interface PodFields {
  readonly labels?: Record<string, string>
  readonly ips?: string[]
  readonly ready?: boolean
  readonly phase?: string
  readonly nodeName?: string
  readonly spec?: Partial<NonNullable<Pod['spec']>>
  readonly readySince?: string
  readonly finalizers?: string[]
}

/** Services, nodes and pods as users and kubelets would make them. */
export class Objects {
  readonly #client: Client
  #pods = 0

  constructor(client: Client) {
    this.#client = client
  }

  service(name: string, spec: Service['spec'] = {}, metadata: Service['metadata'] = {}): Promise<Service> {
    return this.#client
      .resource(serviceKind)
      .namespace('default')
      .create({
        metadata: { name, ...metadata },
        spec: { selector: { app: name }, ports: [{ port: 80, targetPort: 8080 }], ...spec },
      })
  }

  patchService(name: string, patch: unknown): Promise<Service> {
    return this.#client.resource(serviceKind).namespace('default').patch(name, patch)
  }

  async node(name: string, zone?: string, cpu = '4'): Promise<Node> {
    const nodes = this.#client.resource(nodeKind)
    await nodes.create({
      metadata: { name, labels: zone ? { 'topology.kubernetes.io/zone': zone } : {} },
    })
    const status = { allocatable: { cpu }, conditions: [{ type: 'Ready', status: 'True' }] }
    return await nodes.patch(name, { status }, { subresource: 'status' })
  }

  /** A pod that runs on node `n`, ready unless told otherwise. */
  async pod(name: string, fields: PodFields = {}): Promise<Pod> {
    const { labels = { app: 'web' }, nodeName = 'n', spec = {}, finalizers } = fields
    await this.#client
      .resource(podKind)
      .namespace('default')
      .create({
        metadata: { name, labels, ...(finalizers && { finalizers }) },
        spec: { containers: [{ name: 'main', image: 'web' }], nodeName, ...spec },
      })
    const number = ++this.#pods
    return await this.podStatus(name, { ips: [`10.0.${number >> 8}.${number & 255}`], ...fields })
  }

  podStatus(name: string, { ips, ready = true, phase = 'Running', readySince }: PodFields): Promise<Pod> {
    const status = {
      phase,
      ...(ips && { podIP: ips[0], podIPs: ips.map((ip) => ({ ip })) }),
      conditions: [
        {
          type: 'Ready',
          status: ready ? 'True' : 'False',
          lastTransitionTime: readySince ?? '2026-01-01T00:00:00Z',
        },
      ],
    }
    return this.#client.resource(podKind).namespace('default').patch(name, { status }, { subresource: 'status' })
  }

  deletePod(name: string, gracePeriodSeconds = 0) {
    return this.#client.resource(podKind).namespace('default').delete(name, { gracePeriodSeconds })
  }
}
