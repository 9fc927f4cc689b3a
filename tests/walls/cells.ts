/** Pods in which the scripts of many rows run one after the other. */
import type { Container, PodSpec } from '../../src/api/generated/core-v1.ts'
import type { Goal } from './canaries.ts'
import { BASE_IMAGE } from './images.ts'

export interface Cell {
  readonly container?: Partial<Container>
  readonly spec?: Partial<PodSpec>
  /** Containers beside it, which go on until the pod is deleted. */
  readonly others?: readonly Container[]
}

export type CellName =
  | 'default'
  | 'filtered'
  | 'plain-user'
  | 'no-new-privileges'
  | 'sys-admin'
  | 'shared-processes'
  | 'tracer'
  | 'host-network'
  | 'volumes'
  | 'host-image'
  | 'privileged'

const MOUNTED = ['disk', 'memory', 'config', 'secret', 'projected'] as const

export const CELLS: Readonly<Record<CellName, Cell>> = {
  default: {},
  filtered: { container: { securityContext: { seccompProfile: { type: 'RuntimeDefault' } } } },
  'plain-user': { container: { securityContext: { runAsUser: 1000, runAsGroup: 1000 } } },
  'no-new-privileges': {
    container: { securityContext: { runAsUser: 1000, allowPrivilegeEscalation: false } },
  },
  'sys-admin': { container: { securityContext: { capabilities: { add: ['SYS_ADMIN'] } } } },
  'shared-processes': {
    spec: { shareProcessNamespace: true },
    container: { securityContext: { runAsUser: 1000, runAsGroup: 1000 } },
    others: [
      {
        name: 'neighbour',
        image: BASE_IMAGE,
        command: ['/bin/busybox', 'sleep', '1000'],
        securityContext: { runAsUser: 2000, runAsGroup: 2000 },
      },
    ],
  },
  tracer: {
    spec: { shareProcessNamespace: true },
    container: { securityContext: { capabilities: { add: ['SYS_PTRACE'] } } },
  },
  'host-network': { spec: { hostNetwork: true } },
  volumes: {
    container: {
      volumeMounts: MOUNTED.map((name) => ({ name, mountPath: `/v/${name}` })),
    },
    spec: {
      volumes: [
        { name: 'disk', emptyDir: {} },
        { name: 'memory', emptyDir: { medium: 'Memory' } },
        { name: 'config', configMap: { name: 'walls' } },
        { name: 'secret', secret: { secretName: 'walls' } },
        { name: 'projected', projected: { sources: [{ configMap: { name: 'walls' } }] } },
      ],
    },
  },
  'host-image': { container: { image: 'sampan.local/host' } },
  privileged: { container: { securityContext: { privileged: true } } },
}

/** Objects that cells refer to. */
export const CELL_OBJECTS = [
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'walls' }, data: { file: 'unchanged' } },
  {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'walls-baseline', labels: { 'pod-security.kubernetes.io/enforce': 'baseline' } },
  },
  { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'walls' }, stringData: { file: 'unchanged' } },
]

/** What each attempt finds in its environment. */
export const envOf = (goal: Goal) => [
  { name: 'SAMPAN_WALLS', value: '1' },
  { name: 'GOAL', value: goal.folder },
  { name: 'SECRET_FILE', value: goal.secretFile },
  { name: 'MARKER', value: String(goal.marker) },
  { name: 'DATA', value: goal.dataDir },
  { name: 'NODE_IP', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } },
  { name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
]

/** Commands of pods have variables of Kubernetes in them: a dollar sign of a script is written twice. */
export const literal = (script: string) => script.replaceAll('$', '$$$$')

export const shell = (script: string) => ['sh', '-c', literal(script)]
