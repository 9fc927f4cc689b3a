import { WorkQueue } from '../../base/workqueue.ts'
import type { Transport } from '../../client/transport.ts'
import type { Machinery } from '../registry/machinery.ts'
import { callWebhook, type ResolveService } from '../webhook-client/call-webhook.ts'
import { webhookConverter } from './conversion-webhook.ts'
import { DefinitionController } from './definition-controller.ts'
import { CustomResources } from './definitions.ts'
import type { EngineLoader } from './engines.ts'

export interface RunningCustomResources extends AsyncDisposable {
  readonly customResources: CustomResources
}

/** Serves what the stored definitions define, from now on and as they change. */
export async function startCustomResources(
  machinery: Machinery,
  transport: Transport,
  engines: EngineLoader,
  resolveService: ResolveService,
): Promise<RunningCustomResources> {
  const queue = new WorkQueue(machinery.clock)
  const call = (client: Parameters<typeof callWebhook>[0], body: object) => callWebhook(client, body, resolveService)
  const customResources = new CustomResources(
    machinery,
    engines,
    (definition) => webhookConverter(definition, call, machinery.random),
    (key) => queue.add(key),
  )
  await customResources.start()
  const controller = new DefinitionController(machinery, transport, customResources, queue)
  controller.start()
  return {
    customResources,
    async [Symbol.asyncDispose]() {
      customResources[Symbol.dispose]()
      await controller[Symbol.asyncDispose]()
    },
  }
}
