import type { Pod } from '../../src/api/generated/core-v1.ts'
import { nodeKind } from '../../src/api/kinds/core/node/kind.ts'
import { podKind } from '../../src/api/kinds/core/pod/kind.ts'
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts'
import { systemClock } from '../../src/base/clock.ts'
import type { Client } from '../../src/client/client.ts'
import { type Churn, HOPELESS_POD } from './workloads.ts'

/** Ends what goes on. */
export type Stop = () => Promise<void>

/** Something that is done again and again until it is stopped. */
export function repeat(everyMilliseconds: number, work: (i: number) => Promise<unknown>): Stop {
  let isRunning = true
  const running = (async () => {
    for (let i = 0; isRunning; i++) {
      await work(i)
      await systemClock.sleep(everyMilliseconds)
    }
  })()
  return async () => {
    isRunning = false
    await running
  }
}

/** Keeps creating things beside the measured pods. */
export function startChurn(client: Client, { everyMilliseconds, pod, isMixed }: Churn): Stop {
  const stops: Stop[] = []
  if (pod) stops.push(repeat(everyMilliseconds, (i) => createPod(client, `churn-${i}`, pod)))
  if (isMixed) stops.push(repeat(everyMilliseconds, (i) => comeAndGo(client, `passing-${i}`)))
  return async () => {
    for (const stop of stops) await stop()
  }
}

const createPod = (client: Client, name: string, { metadata, spec }: Partial<Pod>) =>
  client
    .resource(podKind)
    .namespace('default')
    .create({ metadata: { ...metadata, name }, ...(spec && { spec }) })

async function comeAndGo(client: Client, name: string): Promise<void> {
  const services = client.resource(serviceKind).namespace('default')
  const spec = { selector: { app: 'foo' }, ports: [{ protocol: 'TCP', port: 8080, targetPort: 8080 }] }
  await client.resource(nodeKind).create({ metadata: { name }, status: { capacity: { pods: '0' } } })
  await createPod(client, name, HOPELESS_POD)
  await services.create({ metadata: { name }, spec })
  await client.resource(nodeKind).delete(name)
  await client.resource(podKind).namespace('default').delete(name)
  await services.delete(name)
}
