/** Jobs, StatefulSets and Deployments whose pods really run, end and fail. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { asRoot } from '../linux/as-root.ts'
import { eventually } from '../tools/machine.ts'
import { ConformanceNode, IMAGE, pod, sh } from './conformance-node.ts'

interface JobObject {
  readonly status?: {
    readonly succeeded?: number
    readonly failed?: number
    readonly completedIndexes?: string
    readonly failedIndexes?: string
    readonly conditions?: { readonly type: string; readonly status: string; readonly reason?: string }[]
  }
}

const job = (name: string, script: string, spec: object, podSpec: object = {}) => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name },
  spec: {
    ...spec,
    template: {
      spec: { restartPolicy: 'Never', terminationGracePeriodSeconds: 1, containers: [sh(script)], ...podSpec },
    },
  },
})
const indexed = (completions: number, more: object = {}) => ({
  completionMode: 'Indexed',
  completions,
  parallelism: completions,
  ...more,
})
const onExit = (action: string, code: number) => ({
  rules: [{ action, onExitCodes: { operator: 'In', values: [code] } }],
})
const ODD_FAIL = 'exit $((JOB_COMPLETION_INDEX % 2))'

const SCRATCH = { volumes: [{ name: 'v', emptyDir: {} }], restartPolicy: 'OnFailure' }
const JOBS = [
  job(
    'sometimes',
    '',
    { completions: 2, parallelism: 2, backoffLimit: 100 },
    {
      ...SCRATCH,
      containers: [
        sh('test -e /v/been && exit 0; touch /v/been; exit 1', { volumeMounts: [{ name: 'v', mountPath: '/v' }] }),
      ],
    },
  ),
  job('by-index', 'echo $(hostname):$JOB_COMPLETION_INDEX', indexed(3)),
  job('fails-early', 'exit 42', { backoffLimit: 6, podFailurePolicy: onExit('FailJob', 42) }),
  job('each-index', ODD_FAIL, indexed(4, { backoffLimitPerIndex: 0, maxFailedIndexes: 4 })),
  job('index-fails', 'test $JOB_COMPLETION_INDEX = 1 && exit 13; exit 0', {
    ...indexed(2, { backoffLimitPerIndex: 3 }),
    podFailurePolicy: onExit('FailIndex', 13),
  }),
  job('too-many', 'exit 1', { ...indexed(4, { backoffLimitPerIndex: 0, maxFailedIndexes: 1 }), parallelism: 1 }),
  job('one-is-enough', 'test $JOB_COMPLETION_INDEX = 0 && exit 0; sleep 1000', {
    ...indexed(3),
    successPolicy: { rules: [{ succeededIndexes: '0' }] },
  }),
  job('count-is-enough', 'test $JOB_COMPLETION_INDEX = 1 && exit 0; sleep 1000', {
    ...indexed(3),
    successPolicy: { rules: [{ succeededCount: 1 }] },
  }),
  job('disrupted', 'sleep 1000', {
    backoffLimit: 0,
    podFailurePolicy: {
      rules: [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }],
    },
  }),
  job('all-succeed', 'exit 0', { ...indexed(2), successPolicy: { rules: [{ succeededCount: 2 }] } }),
]

const OUTCOMES: [name: string, type: string, reason: string | undefined, status: object][] = [
  ['sometimes', 'Complete', 'CompletionsReached', { succeeded: 2 }],
  ['by-index', 'Complete', 'CompletionsReached', { succeeded: 3, completedIndexes: '0-2' }],
  ['fails-early', 'Failed', 'PodFailurePolicy', { failed: 1 }],
  ['each-index', 'Failed', 'FailedIndexes', { completedIndexes: '0,2', failedIndexes: '1,3' }],
  ['index-fails', 'Failed', 'FailedIndexes', { completedIndexes: '0', failedIndexes: '1', failed: 1 }],
  ['too-many', 'Failed', 'MaxFailedIndexesExceeded', { failedIndexes: '0,1' }],
  ['one-is-enough', 'Complete', 'SuccessPolicy', { completedIndexes: '0' }],
  ['count-is-enough', 'Complete', 'SuccessPolicy', { completedIndexes: '1' }],
  ['all-succeed', 'Complete', undefined, { succeeded: 2, completedIndexes: '0,1' }],
]

/** A server that is ready while its file is there. */
const WEB = {
  name: 'main',
  image: IMAGE,
  command: ['sh', '-c', 'touch /tmp/ready; sleep 1000'],
  readinessProbe: { exec: { command: ['cat', '/tmp/ready'] }, periodSeconds: 1, failureThreshold: 1 },
}
const workload = (kind: string, name: string, replicas: number, more: object = {}) => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { terminationGracePeriodSeconds: 1, containers: [WEB] },
    },
    ...more,
  },
})

/** Answers its own name. */
const HOSTNAMES = {
  ...WEB,
  command: ['node', '-e', "require('http').createServer((_, r) => r.end(require('os').hostname())).listen(9376)"],
  readinessProbe: { httpGet: { port: 9376 }, periodSeconds: 1 },
}

function replicated(kind: 'ReplicaSet' | 'ReplicationController', app: string) {
  const labels = { app }
  return {
    apiVersion: kind === 'ReplicaSet' ? 'apps/v1' : 'v1',
    kind,
    metadata: { name: app },
    spec: {
      replicas: 2,
      selector: kind === 'ReplicaSet' ? { matchLabels: labels } : labels,
      template: { metadata: { labels }, spec: { terminationGracePeriodSeconds: 1, containers: [HOSTNAMES] } },
    },
  }
}

asRoot('workloads whose pods run', () => {
  let node: ConformanceNode
  beforeAll(async () => {
    node = await ConformanceNode.up()
    await node.apply(
      ...JOBS,
      workload('StatefulSet', 'ordered', 2, { serviceName: 'ordered' }),
      workload('StatefulSet', 'burst', 2, { serviceName: 'burst', podManagementPolicy: 'Parallel' }),
      replicated('ReplicationController', 'served-rc'),
      replicated('ReplicaSet', 'served-rs'),
      workload('Deployment', 'rolling', 2, { minReadySeconds: 0 }),
    )
  }, 180_000)
  afterAll(() => node?.[Symbol.asyncDispose](), 120_000)

  const read = async <T>(...args: string[]) => JSON.parse(await node.kubectl('get', ...args, '-o', 'json')) as T
  const namesOf = async (app: string, isReady?: boolean) => {
    const pods = [...(await node.pods()).values()].filter(
      ({ metadata }) => metadata.labels?.app === app && metadata.deletionTimestamp === undefined,
    )
    const ready = (status: string) => (isReady === undefined ? true : (status === 'True') === isReady)
    return pods
      .filter(({ status }) => ready(status?.conditions?.find(({ type }) => type === 'Ready')?.status ?? ''))
      .map(({ metadata }) => metadata.name!)
      .sort()
  }

  test.each(OUTCOMES)('the Job %s is %s', async (name, type, reason, status) => {
    const holds = (one: JobObject) =>
      one.status?.conditions?.find((each) => each.type === type && each.status === 'True')
    const done = await eventually(
      () => read<JobObject>('job', name),
      (one) => holds(one) !== undefined,
      90,
    )
    if (reason) expect(holds(done)?.reason).toBe(reason)
    expect(done.status).toMatchObject(status)
  })

  test('pods of an Indexed Job know their index, and are named by it', async () => {
    const pods = [...(await node.pods()).values()].filter(
      ({ metadata }) => metadata.labels?.['job-name'] === 'by-index',
    )
    const wrote = pods.map(({ metadata }) => node.log(metadata.name!).trim())
    expect(wrote.sort()).toEqual([0, 1, 2].map((i) => `by-index-${i}:${i}`))
  })

  test('an ordered StatefulSet waits for who is not ready; a parallel one does not', async () => {
    for (const name of ['ordered', 'burst'])
      await eventually(
        () => namesOf(name, true),
        (names) => names.length === 2,
        60,
      )
    for (const name of ['ordered', 'burst']) await node.exec(`${name}-0`, 'rm', '/tmp/ready')
    for (const name of ['ordered', 'burst'])
      await eventually(
        () => namesOf(name, false),
        (names) => names[0] === `${name}-0`,
        30,
      )
    await node.kubectl('scale', 'statefulset', 'ordered', 'burst', '--replicas=3')
    await eventually(
      () => namesOf('burst', true),
      (names) => names.includes('burst-2'),
      60,
    )
    expect(await namesOf('ordered')).toEqual(['ordered-0', 'ordered-1'])
    await node.exec('ordered-0', 'touch', '/tmp/ready')
    await eventually(
      () => namesOf('ordered', true),
      (names) => names.length === 3,
      60,
    )
  })

  test('a StatefulSet rolls to another template and back', async () => {
    await node.exec('burst-0', 'touch', '/tmp/ready')
    const revision = () => read<{ status: { currentRevision: string } }>('statefulset', 'burst')
    const before = (await revision()).status.currentRevision
    await node.kubectl('set', 'env', 'statefulset/burst', 'COLOR=blue')
    await node.kubectl('rollout', 'status', 'statefulset/burst', '--timeout=90s')
    expect(await node.exec('burst-0', 'printenv', 'COLOR')).toBe('blue\n')
    await node.kubectl('rollout', 'undo', 'statefulset/burst')
    await node.kubectl('rollout', 'status', 'statefulset/burst', '--timeout=90s')
    await eventually(revision, ({ status }) => status.currentRevision === before)
  })

  test('a pod of a StatefulSet that the node refuses is made anew', async () => {
    const port = [{ containerPort: 80, hostPort: 54_324 }]
    const blocker = pod('blocker', { ...WEB, ports: port }, { nodeName: 'node-1' })
    await node.apply(blocker)
    await node.until('blocker', (one) => one.status?.phase === 'Running')
    const set = workload('StatefulSet', 'refused', 1, { serviceName: 'refused' })
    const { template } = set.spec
    const spec = { ...template.spec, nodeName: 'node-1', containers: [{ ...WEB, ports: port }] }
    await node.apply({ ...set, spec: { ...set.spec, template: { ...template, spec } } })
    const uids = new Set<string>()
    const look = async () => {
      for (const { metadata, status } of (await node.pods()).values())
        if (metadata.name === 'refused-0' && status?.reason === 'NodePorts') uids.add(metadata.uid!)
      return uids.size
    }
    await eventually(look, (count) => count >= 1, 30)
    await node.kubectl('delete', 'pod', 'blocker')
    await eventually(
      () => namesOf('refused', true),
      (names) => names.length === 1,
      60,
    )
    expect(uids).not.toContain((await node.pod('refused-0')).metadata.uid)
  })

  test('every replica serves', async () => {
    for (const name of ['served-rc', 'served-rs']) {
      const names = await eventually(
        () => namesOf(name, true),
        (all) => all.length === 2,
        60,
      )
      for (const one of names)
        expect(await node.kubectl('get', '--raw', `/api/v1/namespaces/default/pods/${one}:9376/proxy/`)).toBe(one)
    }
  })

  test('a pod that was evicted does not count as a failure of its Job', async () => {
    const find = async () =>
      [...(await node.pods()).values()].find(
        ({ metadata, status }) => metadata.labels?.['job-name'] === 'disrupted' && status?.phase === 'Running',
      )
    const running = await eventually(find, (found) => found !== undefined, 60)
    const { name = '', uid } = running!.metadata
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace: 'default' } }
    const file = path.join(node.machine.folder, 'eviction.json')
    writeFileSync(file, JSON.stringify(eviction))
    await node.kubectl('create', '--raw', `/api/v1/namespaces/default/pods/${name}/eviction`, '-f', file)
    await eventually(find, (found) => found !== undefined && found.metadata.uid !== uid, 60)
    const { status } = await read<JobObject>('job', 'disrupted')
    expect(status?.failed ?? 0).toBe(0)
  })

  test('an image that is nowhere stops a rollout; the next one rolls over it', async () => {
    await node.kubectl('rollout', 'status', 'deployment/rolling', '--timeout=60s')
    await node.kubectl('set', 'image', 'deployment/rolling', 'main=sampan.local/none:404')
    await eventually(
      () => namesOf('rolling', false),
      (names) => names.length > 0,
      30,
    )
    expect((await namesOf('rolling', true)).length).toBeGreaterThanOrEqual(2)
    await node.kubectl('set', 'image', 'deployment/rolling', `main=${IMAGE}`)
    await node.kubectl('set', 'env', 'deployment/rolling', 'COLOR=green')
    await node.kubectl('rollout', 'status', 'deployment/rolling', '--timeout=90s')
    const [name] = await namesOf('rolling', true)
    expect(await node.exec(name!, 'printenv', 'COLOR')).toBe('green\n')
  })
})
