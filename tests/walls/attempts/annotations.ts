/** Annotations and identities that a user makes up. */
import type { Pod } from '../../../src/api/generated/core-v1.ts'
import { eventually } from '../../tools/machine.ts'
import type { Attempt, DrivenAttempt } from '../attempt.ts'
import { envOf, shell } from '../cells.ts'
import type { Environment } from '../environments.ts'
import { BASE_IMAGE } from '../images.ts'

const LOOK = 'cat /app/secret $SECRET_FILE; ls /app; cat /proc/self/cgroup; echo held'
const RESTRICTED = {
  runAsNonRoot: true,
  runAsUser: 1000,
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
}

/** Runs the pod to its end where the API server takes it; the log is the text. */
async function tried(environment: Environment, namespace: string, pod: object): Promise<string> {
  const { code, stderr } = await environment.kubectl(['create', '-n', namespace, '-f', '-'], JSON.stringify(pod))
  if (code !== 0) return `held ${stderr}`
  const { name } = (pod as Pod).metadata
  const look = async () => JSON.parse(await environment.ask('get', 'pod', '-n', namespace, name!, '-o', 'json')) as Pod
  const isOver = ({ status }: Pod) =>
    ['Succeeded', 'Failed'].includes(status?.phase ?? '') ||
    /Error|BackOff/.test(status?.containerStatuses?.[0]?.state?.waiting?.reason ?? '')
  const { status } = await eventually(look, isOver)
  const log = await environment.kubectl(['logs', '-n', namespace, name!])
  await environment.ask('delete', 'pod', '-n', namespace, name!, '--now')
  const waiting = status?.containerStatuses?.[0]?.state?.waiting
  return waiting ? `held ${waiting.reason}: ${waiting.message}` : `${log.stdout}${log.stderr}`
}

const annotated = (environment: Environment, image: string, annotations: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'annotated', annotations },
  spec: {
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: 0,
    automountServiceAccountToken: false,
    containers: [
      {
        name: 'main',
        image,
        command: shell(LOOK),
        env: envOf(environment.canaries),
        securityContext: RESTRICTED,
      },
    ],
  },
})

const hostPath = (level: string): DrivenAttempt => ({
  name: `an annotation shows no folder of the host under ${level}`,
  idea: 'sampan.dev/host-path',
  async drive(environment) {
    const namespace = `annotated-${level}`
    const labels = { 'pod-security.kubernetes.io/enforce': level }
    await environment.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } })
    const { folder } = environment.canaries
    // Everyone may read this part, so that the user of the pod finds it if it is there.
    const annotations = { 'sampan.dev/host-path': `${folder}/open` }
    const text = await tried(environment, namespace, annotated(environment, 'sampan.local/host', annotations))
    return text.includes('kept') ? `ESCAPED the folder is there: ${text}` : text
  },
})

export const annotations: readonly Attempt[] = [
  hostPath('baseline'),
  hostPath('restricted'),
  {
    name: 'annotations of the runtime say nothing about the control group of a pod',
    idea: 'sampan.dev/cgroup-parent',
    async drive(environment) {
      const made = { 'sampan.dev/cgroup-parent': '/', 'sampan.dev/stop-signal': 'SIGWINCH' }
      const text = await tried(environment, 'default', annotated(environment, BASE_IMAGE, made))
      const groups = [...text.matchAll(/^\d+:(?:memory|pids):(.*)$/gm)].map(([, group]) => group!)
      // The builtin runtime shows a pod its own group as the root.
      const isKept = environment.name !== 'containerd' || groups.every((group) => group.includes('/kubepods'))
      return isKept ? text : `ESCAPED ${groups}`
    },
  },
  {
    name: 'a pod that says it is a mirror of a static pod is judged as any other',
    idea: 'kubernetes.io/config.mirror',
    on: ['builtin'],
    object: () => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'mirror',
        namespace: 'walls-baseline',
        annotations: { 'kubernetes.io/config.mirror': 'x', 'kubernetes.io/config.source': 'file' },
      },
      spec: {
        nodeName: 'node-1',
        containers: [{ name: 'main', image: BASE_IMAGE, securityContext: { privileged: true } }],
      },
    }),
    refusal: /violates PodSecurity "baseline/,
  },
  {
    name: 'an ephemeral container gets no privileges under the baseline',
    idea: 'kubectl debug --profile=sysadmin',
    on: ['builtin'],
    async drive(environment) {
      const pod = {
        ...annotated(environment, BASE_IMAGE, {}),
        metadata: { name: 'debugged' },
        spec: {
          terminationGracePeriodSeconds: 0,
          containers: [{ name: 'main', image: BASE_IMAGE, command: ['sleep', '1000'] }],
        },
      }
      await environment.kubectl(['create', '-n', 'walls-baseline', '-f', '-'], JSON.stringify(pod))
      const debug = ['debug', '-n', 'walls-baseline', 'debugged', `--image=${BASE_IMAGE}`, '--profile=sysadmin']
      const { code, stdout, stderr } = await environment.kubectl([...debug, '--', 'true'])
      return code !== 0 && /violates PodSecurity/.test(stderr) ? `held ${stderr}` : `ESCAPED ${stdout}${stderr}`
    },
  },
  {
    name: 'a user does not choose the uid of a pod, which the node makes paths of',
    idea: 'CVE-2023-3676: names that become paths',
    on: ['builtin'],
    async drive(environment) {
      const pod = { ...annotated(environment, BASE_IMAGE, {}), metadata: { name: 'uid', uid: '../../../../escaped' } }
      const { stdout, stderr } = await environment.kubectl(
        ['create', '-f', '-', '-o', 'jsonpath={.metadata.uid}'],
        JSON.stringify(pod),
      )
      return /^[0-9a-f-]{36}$/.test(stdout) || stderr ? `held ${stdout}${stderr}` : `ESCAPED ${stdout}`
    },
  },
  {
    name: 'a volume from a git repository runs no git on the node',
    idea: 'CVE-2024-10220',
    on: ['builtin'],
    async drive(environment) {
      const pod = annotated(environment, BASE_IMAGE, {})
      const volumes = [{ name: 'v', gitRepo: { repository: environment.canaries.folder, directory: '../../x' } }]
      const { code, stderr } = await environment.kubectl(
        ['create', '-f', '-'],
        JSON.stringify({ ...pod, metadata: { name: 'git' }, spec: { ...pod.spec, volumes } }),
      )
      if (code !== 0) return `held ${stderr}`
      const why = [
        'get',
        'events',
        '--field-selector',
        'involvedObject.name=git,type=Warning',
        '-o',
        'jsonpath={..message}',
      ]
      const message = await eventually(
        () => environment.ask(...why),
        (text) => text !== '',
      )
      await environment.ask('delete', 'pod', 'git', '--now')
      return `held ${message}`
    },
  },
]
