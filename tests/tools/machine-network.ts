/** An Ethernet between machines of a test: a bridge in a namespace of its own, and a link to each. */
import { randomBytes } from 'node:crypto'
import { kernelLinux } from '../../src/linux/kernel-linux.ts'
import { LOOPBACK_INDEX } from '../../src/linux/rtnetlink.ts'
import type { Machine } from './machine.ts'

const UPLINK = 'eth0'

export class MachineNetwork implements Disposable {
  readonly #linux = kernelLinux()
  readonly #namespace = this.#linux.namespaces.create(`machines-${randomBytes(4).toString('hex')}`)
  readonly #bridge: number
  #machines = 0

  constructor() {
    using network = this.#linux.openRtnetlink(this.#namespace)
    network.changeLink(LOOPBACK_INDEX, { up: true })
    this.#bridge = network.addLink({ kind: 'bridge', name: 'lan', up: true }).index
    network.addAddress({ link: this.#bridge, address: '10.77.0.254/24' })
  }

  /** Gives the machine a link and an address, which is returned. The world is behind the bridge, and empty. */
  connect(machine: Machine): string {
    const address = `10.77.0.${++this.#machines}`
    using network = this.#linux.openRtnetlink(this.#namespace)
    const peer = { name: UPLINK, namespace: machine.namespace }
    network.addLink({ kind: 'veth', name: `m${this.#machines}`, up: true, master: this.#bridge, peer })
    using inside = this.#linux.openRtnetlink(machine.namespace)
    const link = inside.link(UPLINK)!.index
    inside.changeLink(link, { up: true })
    inside.addAddress({ link, address: `${address}/24` })
    inside.replaceRoute({ destination: '0.0.0.0/0', gateway: '10.77.0.254', link })
    return address
  }

  [Symbol.dispose](): void {
    this.#namespace[Symbol.dispose]()
    this.#linux.namespaces.delete(this.#namespace.name)
  }
}
