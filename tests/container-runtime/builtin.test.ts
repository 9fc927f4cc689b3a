/** The contract of container runtimes against the builtin one, with real containers on this kernel. */
import { containerRuntimeContract } from '../../src/container-runtime/runtime.contract.ts'
import { asRoot } from '../linux/as-root.ts'
import { builtinMachine, mapsOwners } from './builtin-under-test.ts'
import { BUSYBOX_IMAGE } from './busybox-image.ts'

asRoot('builtin runtime', () => {
  containerRuntimeContract(
    'builtin',
    async () => {
      const machine = builtinMachine()
      const runtime = await machine.start()
      return {
        runtime,
        imageId: BUSYBOX_IMAGE,
        image: BUSYBOX_IMAGE,
        async [Symbol.asyncDispose]() {
          await runtime[Symbol.asyncDispose]()
          await machine[Symbol.asyncDispose]()
        },
      }
    },
    { processes: true, network: true, limits: true, users: true, podUsers: mapsOwners(), imageVolumes: true },
  )
})
