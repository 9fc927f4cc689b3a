import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Pod } from '../../src/api/generated/core-v1.ts'
import { nodeKind } from '../../src/api/kinds/core/node/kind.ts'
import { podKind } from '../../src/api/kinds/core/pod/kind.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { createInformerFactory, type InformerFactory } from '../../src/client/informer-factory.ts'
import { type Cluster, startCluster } from '../../src/cluster/start-cluster.ts'
import { runProgram } from '../tools/cluster.ts'
import { KUBECTL_VERSIONS, kubectl as kubectlOf, kubectlRunsHere } from '../tools/kubectl.ts'

/** `kubectl rollout` and `kubectl scale` on each kind that has them. */

const CONTROLLERS = [
  'deployment-controller',
  'replicaset-controller',
  'statefulset-controller',
  'daemonset-controller',
  'garbage-collector-controller',
]

const workload = (kind: string, name: string, spec: object) => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'app', image: 'app:1' }] } },
    ...spec,
  },
})

describe.runIf(kubectlRunsHere).each(KUBECTL_VERSIONS)('kubectl %s', (version) => {
  let cluster: Cluster
  let informers: InformerFactory
  let binary: string
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-rollout-'))
  const env = { ...process.env, HOME: folder, KUBECONFIG: path.join(folder, 'kubeconfig') }

  beforeAll(async () => {
    binary = await kubectlOf(version)
    cluster = await startCluster({ controllers: CONTROLLERS })
    writeFileSync(env.KUBECONFIG, cluster.kubeconfig)
    for (const name of ['node-1', 'node-2']) {
      await cluster.client.resource(nodeKind).create({ metadata: { name } })
      await cluster.client.resource(nodeKind).patch(name, { spec: { taints: null } })
    }
    informers = createInformerFactory({
      transport: cluster.transport,
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
    })
    informers.informer(podKind).onChange((_, pod) => void (pod && live(cluster, pod).catch(() => {})))
  })
  afterAll(async () => {
    await informers?.[Symbol.asyncDispose]()
    await cluster?.[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })

  async function ok(line: string): Promise<string> {
    const ran = await runProgram(binary, line.split(' '), env, { cwd: folder })
    if (ran.code !== 0) expect.fail(`kubectl ${line} ended with ${ran.code}:\n${ran.stdout}${ran.stderr}`)
    return ran.stdout
  }
  async function apply(object: object): Promise<void> {
    writeFileSync(path.join(folder, 'object.json'), JSON.stringify(object))
    await ok('apply -f object.json')
  }
  const image = async (name: string) => ok(`get ${name} -o jsonpath={.spec.template.spec.containers[0].image}`)
  const images = async (app: string) => {
    const text = await ok(`get pods -l app=${app} -o jsonpath={.items[*].spec.containers[0].image}`)
    return [...new Set(text.split(' '))]
  }

  test.each([
    ['deployment', workload('Deployment', 'web', { replicas: 3 })],
    ['statefulset', workload('StatefulSet', 'db', { replicas: 2, serviceName: 'db' })],
    ['daemonset', workload('DaemonSet', 'agent', {})],
  ])('rolls out, back and on again: %s', async (kind, object) => {
    const { name } = object.metadata
    const target = `${kind}/${name}`
    const status = () => ok(`rollout status ${target} --timeout=30s`)
    await apply(object)
    expect(await status()).toMatch(/successfully rolled out|roll out complete/)
    await ok(`set image ${target} app=app:2`)
    await status()
    await expect.poll(() => images(name)).toEqual(['app:2'])
    expect(await ok(`rollout history ${target}`)).toMatch(/^1 .*\n2 /m)
    expect(await ok(`rollout history ${target} --revision=1`)).toContain('app:1')

    expect(await ok(`rollout undo ${target}`)).toContain('rolled back')
    await status()
    expect(await image(target)).toBe('app:1')
    await expect.poll(() => images(name)).toEqual(['app:1'])
    expect(await ok(`rollout history ${target}`)).toMatch(/^2 .*\n3 /m)
    await ok(`rollout undo ${target} --to-revision=2`)
    await status()
    expect(await image(target)).toBe('app:2')

    const before = await ok(`get pods -l app=${name} -o jsonpath={.items[*].metadata.uid}`)
    await ok(`rollout restart ${target}`)
    await status()
    const uids = (await ok(`get pods -l app=${name} -o jsonpath={.items[*].metadata.uid}`)).split(' ')
    expect(uids.filter((uid) => before.includes(uid))).toEqual([])
  })

  test('pauses and resumes a Deployment', async () => {
    await apply(workload('Deployment', 'still', { replicas: 1 }))
    await ok('rollout status deployment/still --timeout=30s')
    await ok('rollout pause deployment/still')
    await ok('set image deployment/still app=app:2')
    await ok('scale deployment/still --replicas=2')
    await ok('wait deployment/still --for=jsonpath={.status.readyReplicas}=2 --timeout=30s')
    expect(await images('still')).toEqual(['app:1'])
    await ok('rollout resume deployment/still')
    await ok('rollout status deployment/still --timeout=30s')
    await expect.poll(() => images('still')).toEqual(['app:2'])
  })

  test('describes what happened', async () => {
    const text = await ok('describe deployment/still')
    expect(text).toMatch(/Replicas: +2 desired \| 2 updated \| 2 total \| 2 available \| 0 unavailable/)
    expect(text).toMatch(/NewReplicaSetAvailable/)
    expect(text).toMatch(/OldReplicaSets: +still-/)
    expect(text).toMatch(/ScalingReplicaSet.*Scaled up replica set still-\w+ from 0 to 1/)
  })

  test('scales each kind that can be scaled', async () => {
    await ok('scale deployment/web statefulset/db --replicas=1')
    await ok('wait deployment/web statefulset/db --for=jsonpath={.status.replicas}=1 --timeout=30s')
    await ok('delete deployment/web')
    await expect.poll(() => ok('get pods -l app=web -o name'), { timeout: 10_000 }).toBe('')
  })
})

/** What scheduler and node do to a pod: bind it, run it, let it go. */
async function live(cluster: Cluster, pod: Pod): Promise<void> {
  const { name = '', namespace = '', deletionTimestamp } = pod.metadata
  const pods = cluster.client.resource(podKind).namespace(namespace)
  if (deletionTimestamp) await pods.delete(name, { gracePeriodSeconds: 0 })
  else if (!pod.spec?.nodeName)
    await pods.subresource('create', name, 'binding', {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name },
      target: { kind: 'Node', name: targetOf(pod) },
    })
  else if (pod.status?.phase !== 'Running') {
    const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: new Date().toISOString() }]
    await pods.patch(name, { status: { phase: 'Running', conditions } }, { subresource: 'status' })
  }
}

function targetOf(pod: Pod): string {
  const terms =
    pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  return terms[0]?.matchFields?.[0]?.values?.[0] ?? 'node-1'
}
