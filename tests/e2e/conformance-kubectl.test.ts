import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startCluster, type TestCluster } from '../../src/testing/index.ts'
import { template, workload } from '../tools/conformance.ts'
import { KUBECTL_VERSIONS, kubectlRunsHere } from '../tools/kubectl.ts'
import { type KubectlSession, kubectlSession } from '../tools/kubectl-session.ts'

/** What the conformance suite asks of kubectl and simulated pods, in our own words; see docs/conformance.md. */

describe.runIf(kubectlRunsHere)('kubectl', () => {
  let cluster: TestCluster
  let session: KubectlSession
  const ok = (line: string) => session.ok(line)
  beforeAll(async () => {
    cluster = await startCluster({ nodes: 2 })
    session = await kubectlSession(KUBECTL_VERSIONS.at(-1)!, await cluster.kubeconfig)
  })
  afterAll(async () => {
    session?.[Symbol.dispose]()
    await cluster?.dispose()
  })
  const ready = (what: string) => ok(`wait ${what} --for=condition=Ready --timeout=30s`)
  const imageOf = (pod: string) => ok(`get pod ${pod} -o jsonpath={.spec.containers[*].image}`)
  /** Each line of what is asked for, with all its parts in their order. */
  function expectLines(text: string, lines: readonly string[][]): void {
    for (const parts of lines) {
      const escaped = parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      expect(text).toMatch(new RegExp(escaped.join('.*')))
    }
  }

  test('version, api-versions and cluster-info say what is there', async () => {
    const version = await ok('version')
    for (const side of ['Client', 'Server'])
      expect(version).toMatch(new RegExp(`${side} Version: v1\\.\\d+\\.[\\w.+-]+`))
    expect((await ok('api-versions')).split('\n')).toContain('v1')
    expect(await ok('cluster-info')).toMatch(/Kubernetes control plane.*is running at.*https:/)
  })

  test('run makes a pod, and a dry run on the server changes nothing', async () => {
    await ok('run once --restart=Never --image=app:1')
    expect(await ok('get pod once -o jsonpath={.spec.restartPolicy}')).toBe('Never')
    expect(await imageOf('once')).toBe('app:1')
    await ok('run dry --image=app:1 --labels=run=dry')
    const patch = '{"spec":{"containers":[{"name":"dry","image":"app:2"}]}}'
    expect(await ok(`patch pod dry -p ${patch} --dry-run=server -o jsonpath={.spec.containers[*].image}`)).toBe('app:2')
    expect(await imageOf('dry')).toBe('app:1')
  })

  test('replace changes the image of a pod', async () => {
    await ok('run replaced --image=app:1 --labels=run=replaced')
    await ready('pod/replaced')
    const pod = JSON.parse(await ok('get pod replaced -o json'))
    pod.spec.containers[0].image = 'app:2'
    writeFileSync(path.join(session.folder, 'pod.json'), JSON.stringify(pod))
    expect(await ok('replace -f pod.json')).toContain('pod/replaced replaced')
    expect(await imageOf('replaced')).toBe('app:2')
  })

  test('diff shows what would change in a Deployment', async () => {
    const object = workload('Deployment', 'differs', { replicas: 1 })
    await session.apply(object)
    const changed = workload('Deployment', 'differs', { replicas: 1 }, 'app:2')
    writeFileSync(path.join(session.folder, 'changed.json'), JSON.stringify(changed))
    // It ends with 1 where something differs, and what differs is on its output.
    const { stdout } = await session.run('diff -f changed.json')
    expectLines(stdout, [
      ['-', 'image: app:1'],
      ['+', 'image: app:2'],
    ])
  })

  test('label adds a label and takes it away', async () => {
    await ok('run labelled --image=app:1')
    await ready('pod/labelled')
    await ok('label pods labelled testing-label=testing-label-value')
    expect(await ok('get pod labelled -L testing-label')).toContain('testing-label-value')
    await ok('label pods labelled testing-label-')
    expect(await ok('get pod labelled -L testing-label')).not.toContain('testing-label-value')
  })

  const primary = { app: 'primary', role: 'primary' }
  const controller = {
    kind: 'ReplicationController',
    metadata: { name: 'primary', labels: primary },
    spec: { replicas: 1, selector: primary, template: { ...template('primary'), metadata: { labels: primary } } },
  }
  const service = {
    kind: 'Service',
    metadata: { name: 'primary', labels: primary },
    spec: { selector: primary, ports: [{ port: 6379, targetPort: 6379 }] },
  }

  test('patch annotates each pod of a controller', async () => {
    await session.apply(controller, service)
    await ok('wait rc/primary --for=jsonpath={.status.readyReplicas}=1 --timeout=30s')
    const pods = (await ok('get pods -l app=primary -o name')).trim().split('\n')
    for (const pod of pods) await ok(`patch ${pod} -p {"metadata":{"annotations":{"x":"y"}}}`)
    expect(await ok('get pods -l app=primary -o jsonpath={.items[*].metadata.annotations.x}')).toBe('y')
  })

  test('expose makes services for a controller and for a service', async () => {
    await ok('wait rc/primary --for=jsonpath={.status.readyReplicas}=1 --timeout=30s')
    await ok('expose rc primary --name=second --port=1234 --target-port=6379')
    await ok('expose service second --name=third --port=2345 --target-port=6379')
    const address = await ok('get pods -l app=primary -o jsonpath={.items[*].status.podIP}')
    for (const [name, port] of [
      ['second', '1234'],
      ['third', '2345'],
    ]) {
      expect(await ok(`get service ${name} -o jsonpath={.spec.ports[0].port}`)).toBe(port)
      const found = () =>
        ok(`get endpoints ${name} -o jsonpath={.subsets[*].addresses[*].ip}:{.subsets[*].ports[*].port}`)
      await expect.poll(found, { timeout: 10_000 }).toBe(`${address}:6379`)
    }
  })

  test('describe tells the whole story of pods, controllers, services, nodes and namespaces', async () => {
    expectLines(await ok('describe pods -l app=primary'), [
      ['Name:', 'primary-'],
      ['Namespace:', 'default'],
      ['Node:', 'node-'],
      ['Labels:', 'app=primary'],
      ['role=primary'],
      ['Annotations:'],
      ['Status:', 'Running'],
      ['IP:'],
      ['Controlled By:', 'ReplicationController/primary'],
      ['Image:', 'app:1'],
      ['State:', 'Running'],
      ['QoS Class:', 'BestEffort'],
    ])
    expectLines(await ok('describe rc primary'), [
      ['Name:', 'primary'],
      ['Selector:', 'app=primary,role=primary'],
      ['Labels:', 'app=primary'],
      ['Replicas:', '1 current', '1 desired'],
      ['Pods Status:', '1 Running', '0 Waiting', '0 Succeeded', '0 Failed'],
      ['Pod Template:'],
      ['Image:', 'app:1'],
      ['Events:'],
      ['SuccessfulCreate', 'Created pod: primary-'],
    ])
    expectLines(await ok('describe service primary'), [
      ['Name:', 'primary'],
      ['Selector:', 'app=primary', 'role=primary'],
      ['Type:', 'ClusterIP'],
      ['IP:', '10.'],
      ['Port:', '<unset>', '6379/TCP'],
      ['Endpoints:', ':6379'],
      ['Session Affinity:', 'None'],
    ])
    expectLines(await ok('describe node node-1'), [
      ['Name:', 'node-1'],
      ['Labels:'],
      ['Annotations:'],
      ['CreationTimestamp:'],
      ['Conditions:'],
      ['Type', 'Status', 'LastHeartbeatTime', 'LastTransitionTime', 'Reason', 'Message'],
      ['Ready', 'True'],
      ['Addresses:'],
      ['Capacity:'],
      ['Kernel Version:', '.'],
      ['OS Image:', ''],
      ['Container Runtime Version:', '://'],
      ['Kubelet Version:', 'v1.'],
      ['Non-terminated Pods:'],
    ])
    expectLines(await ok('describe namespace default'), [
      ['Name:', 'default'],
      ['Labels:', 'kubernetes.io/metadata.name=default'],
      ['Annotations:'],
      ['Status:', 'Active'],
    ])
  })
})
