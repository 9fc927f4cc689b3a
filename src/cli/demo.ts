/** `sampan up --demo`: three pods that answer their own name, behind one Service. */
import { deploymentKind } from '../api/kinds/apps/deployment/kind.ts'
import { podKind } from '../api/kinds/core/pod/kind.ts'
import { serviceKind } from '../api/kinds/core/service/kind.ts'
import { isConditionTrue } from '../api/meta/conditions.ts'
import { deadline } from '../base/abort.ts'
import { systemClock } from '../base/clock.ts'
import { dialRemoteCommand } from '../client/remote-command.ts'
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
const ANSWER_PATIENCE = 20_000
/** So many that each pod is among those who answer. */
const QUESTIONS = 30

/** Applies the demo and waits until it runs. Simulated pods answer nobody: of these their status is believed. */
export function runDemo(options: ConnectOptions, isSimulated: boolean): Promise<void> {
  return withApi(options, async (api) => {
    const apply = { fieldManager: 'sampan-demo', force: true }
    await api.client.resource(deploymentKind).namespace('default').apply(deployment, apply)
    const applied = await api.client.resource(serviceKind).namespace('default').apply(service, apply)
    const where = `http://${applied.spec?.clusterIP}`
    const waiting = progress('starting three pods')
    const runs = await whetherRuns(api, isSimulated ? undefined : where).finally(() => waiting.stop())
    say()
    if (runs) success(`The demo runs: Service ${NAME}, three pods, at ${where}`)
    else say(`The demo is on its way; see ${colours.bold('kubectl get pods')}`)
    // Without root the cluster's addresses are in a network of their own.
    const reach = process.getuid?.() === 0 ? `curl ${where}` : `kubectl port-forward service/${NAME} 8080:80`
    say(
      `\n${colours.bold('Try')}\n  ${reach}\n  kubectl get endpoints ${NAME}\n  kubectl delete pod -l app=${NAME} --wait=false`,
    )
  })
}

async function whetherRuns(api: ApiAccess, address: string | undefined): Promise<boolean> {
  for (const end = systemClock.now() + PATIENCE; systemClock.now() < end; ) {
    const pods = await readyPods(api)
    const areReady = pods.length === deployment.spec.replicas
    // After a crash what the API tells of pods may be older than this start: only an answer is proof.
    if (areReady && (address === undefined || (await answers(api, pods[0]!, address).catch(() => false)))) return true
    await systemClock.sleep(INTERVAL)
  }
  return false
}

async function readyPods({ client }: ApiAccess): Promise<string[]> {
  const { items } = await client
    .resource(podKind)
    .namespace('default')
    .list({ labelSelector: `app=${NAME}` })
  return items
    .filter(({ metadata, status }) => !metadata.deletionTimestamp && isConditionTrue(status?.conditions, 'Ready'))
    .map(({ metadata }) => metadata.name ?? '')
}

/** Whether the Service leads to each of the pods. One of them asks: it is reached as any user, and by any route. */
async function answers({ connection }: ApiAccess, pod: string, address: string): Promise<boolean> {
  const question = `
    const ask = () => new Promise((done, fail) =>
      require('node:http').get('${address}', { agent: false }, (answer) => answer.on('data', (name) => done(String(name)))).on('error', fail))
    Promise.all(Array.from({ length: ${QUESTIONS} }, ask)).then((names) => process.exit(new Set(names).size - ${deployment.spec.replicas}))`
  const query = new URLSearchParams({ stdout: 'true' })
  for (const word of ['node', '-e', question]) query.append('command', word)
  const url = `${connection.server}/api/v1/namespaces/default/pods/${pod}/exec?${query}`
  using limit = deadline(systemClock, ANSWER_PATIENCE)
  const streams = { stdin: false, stdout: true, stderr: false, tty: false }
  const command = await dialRemoteCommand(url, streams, { tls: connection, signal: limit.signal })
  limit.signal.addEventListener('abort', () => void command.close())
  command.stdout?.resume()
  try {
    return (await command.exited) === 0
  } finally {
    await command.close()
  }
}
