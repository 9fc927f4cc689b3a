/** The contract of container runtimes against Debian's containerd, through CRI. */
import { containerRuntimeContract } from '../../src/container-runtime/runtime.contract.ts'
import { asRoot } from '../linux/as-root.ts'
import { CONTAINERD_IMAGE, containerdMachine } from './containerd-under-test.ts'

asRoot('containerd through CRI', () => {
  containerRuntimeContract(
    'containerd',
    async () => {
      const machine = await containerdMachine()
      return {
        runtime: machine.runtime,
        imageId: machine.imageId,
        image: CONTAINERD_IMAGE,
        [Symbol.asyncDispose]: () => machine[Symbol.asyncDispose](),
      }
    },
    {
      processes: true,
      network: true,
      limits: true,
      users: true,
      losesLastOutput: true,
      missesOutOfMemory: true,
    },
  )
})
