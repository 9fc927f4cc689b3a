/** What a control plane consists of, in the order of its start. With nodes on its machine: see parts-with-nodes.ts. */
import { openStore } from '../open-store.ts'
import type { Part } from '../part.ts'
import { apiServer, listener } from './api-server.ts'
import { controllers, scheduler, simulatedNodes } from './control-loops.ts'
import type { ControlPlane } from './control-plane.ts'
import { certificateRotation, certificates } from './serving-certificates.ts'

const store: Part<ControlPlane> = {
  name: 'store',
  async start(plane) {
    const { clock, random, options } = plane
    const place = { ...(options.dataDir !== undefined && { dataDir: options.dataDir }), clock, random }
    plane.store = await openStore(options.store ?? { type: 'memory' }, place)
  },
  stop: (plane) => plane.store[Symbol.asyncDispose](),
}

/** Those that start in the background: after the API answers, while nodes start. */
export const CONTROL_LOOPS = [controllers, scheduler, simulatedNodes]

export const CONTROL_PLANE_PARTS: readonly Part<ControlPlane>[] = [
  certificates,
  store,
  apiServer,
  listener,
  ...CONTROL_LOOPS,
  certificateRotation,
]
