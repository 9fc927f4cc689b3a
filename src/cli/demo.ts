/** `sampan up --demo`: three pods that answer their own name, behind one Service. */
import { deploymentKind } from '../api/kinds/apps/deployment/kind.ts'
import { serviceKind } from '../api/kinds/core/service/kind.ts'
import { systemClock } from '../base/clock.ts'
import { colours, progress, say, success } from './printing/say.ts'
import { type ApiAccess, type ConnectOptions, withApi } from './resources/connect.ts'

const NAME = 'hostnames'
const PORT = 9376
const labels = { app: NAME }
/** The host image has no program of its own: the pods run the node's Node. */
const PROGRAM = `require('node:http').createServer((_, answer) => answer.end(require('node:os').hostname() + '\\n')).listen(${PORT})`

const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: NAME, namespace: 'default' },
  spec: {
    replicas: 3,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            name: NAME,
            image: 'sampan.local/host',
            command: ['node', '-e', PROGRAM],
            ports: [{ containerPort: PORT }],
            readinessProbe: { httpGet: { path: '/', port: PORT }, periodSeconds: 1 },
          },
        ],
      },
    },
  },
}

const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: NAME, namespace: 'default' },
  spec: { selector: labels, ports: [{ name: 'default', port: 80, protocol: 'TCP', targetPort: PORT }] },
}

const PATIENCE = 60_000
const INTERVAL = 50

/** Applies the demo and waits until its pods are ready. */
export function runDemo(options: ConnectOptions): Promise<void> {
  return withApi(options, async ({ client }) => {
    const apply = { fieldManager: 'sampan-demo', force: true }
    await client.resource(deploymentKind).namespace('default').apply(deployment, apply)
    const applied = await client.resource(serviceKind).namespace('default').apply(service, apply)
    const waiting = progress('starting three pods')
    const ready = await allReady(client).finally(() => waiting.stop())
    const where = `http://${applied.spec?.clusterIP}`
    say()
    if (ready) success(`The demo runs: Service ${NAME}, three pods, at ${where}`)
    else say(`The demo is on its way; see ${colours.bold('kubectl get pods')}`)
    // Without root the cluster's addresses are in a network of their own.
    const reach = process.getuid?.() === 0 ? `curl ${where}` : `kubectl port-forward service/${NAME} 8080:80`
    say(
      `\n${colours.bold('Try')}\n  ${reach}\n  kubectl get endpoints ${NAME}\n  kubectl delete pod -l app=${NAME} --wait=false`,
    )
  })
}

async function allReady(client: ApiAccess['client']): Promise<boolean> {
  const deployments = client.resource(deploymentKind).namespace('default')
  for (const end = systemClock.now() + PATIENCE; systemClock.now() < end; ) {
    const { status } = await deployments.get(NAME)
    if (status?.readyReplicas === deployment.spec.replicas) return true
    await systemClock.sleep(INTERVAL)
  }
  return false
}
