import { describe, expect, it } from 'vitest'
import { silentLogger } from '../../base/log.ts'
import { VirtualClock } from '../../base/virtual-clock.ts'
import { Parts } from '../part.ts'
import { startCluster } from '../start-cluster.ts'
import { ControlPlane } from './control-plane.ts'
import { CONTROL_PLANE_PARTS } from './parts.ts'
import { PARTS_WITH_REAL_NODES } from './parts-with-nodes.ts'

const namesOf = (parts: readonly { readonly name: string }[]) => parts.map(({ name }) => name)

describe('the parts of a control plane', () => {
  it('start in this order', () => {
    expect(namesOf(CONTROL_PLANE_PARTS)).toEqual([
      'certificates',
      'store',
      'API server',
      'HTTPS listener',
      'controllers',
      'scheduler',
      'simulated nodes',
      'certificate rotation',
    ])
  })

  it('with real nodes have the node network first and the nodes last, so that nodes stop before all else', () => {
    const names = namesOf(PARTS_WITH_REAL_NODES)
    expect(names[0]).toBe('node network')
    expect(names.slice(1, -3)).toEqual(namesOf(CONTROL_PLANE_PARTS))
    expect(names.slice(-3)).toEqual(['kubelet metrics', 'cluster-info', 'nodes'])
  })

  it('only the control loops wait until the API answers', () => {
    const later = PARTS_WITH_REAL_NODES.filter((part) => part.inBackground)
    expect(namesOf(later)).toEqual(['controllers', 'scheduler', 'simulated nodes'])
  })

  it('depend on the options', async () => {
    const plane = await ControlPlane.prepare({ listen: false, controllers: false, scheduler: false })
    const parts = new Parts(CONTROL_PLANE_PARTS, plane, { clock: new VirtualClock(), log: silentLogger })
    expect(namesOf(parts.status)).toEqual(['certificates', 'store', 'API server'])
  })
})

describe('startCluster', () => {
  it('reports its parts as running', async () => {
    const cluster = await startCluster({ listen: false, nodes: 1 })
    const running = cluster.parts.map(({ name, state }) => `${name} ${state}`)
    await cluster[Symbol.asyncDispose]()
    expect(running).toEqual([
      'certificates running',
      'store running',
      'API server running',
      'controllers running',
      'scheduler running',
      'simulated nodes running',
    ])
  })

  it('returns before the control loops run if they start in the background', async () => {
    let ready = () => {}
    const background = new Promise<void>((resolve) => {
      ready = resolve
    })
    const cluster = await startCluster({ listen: false, background })
    const stateOf = (name: string) => cluster.parts.find((part) => part.name === name)?.state
    expect([stateOf('API server'), stateOf('controllers')]).toEqual(['running', 'waiting'])
    ready()
    await expect.poll(() => stateOf('scheduler')).toBe('running')
    await cluster[Symbol.asyncDispose]()
  })

  it('stops what it started when a part fails', async () => {
    const stopped: string[] = []
    const list = CONTROL_PLANE_PARTS.map((part) => ({
      ...part,
      async stop(plane: ControlPlane) {
        await part.stop?.(plane)
        stopped.push(part.name)
      },
    }))
    const failing = list.map((part) =>
      part.name === 'HTTPS listener' ? { ...part, start: () => Promise.reject(new Error('no port')) } : part,
    )
    await expect(startCluster({}, failing)).rejects.toThrow('no port')
    expect(stopped).toEqual(['API server', 'store', 'certificates'])
  })
})
