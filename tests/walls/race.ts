/**
 * Raced attempts: a sidecar changes folders of a volume into links and back as fast as it can, while the node mounts them
 * into other containers. One mount is one attempt.
 */
import type { Container, ContainerStatus, Pod, PodSpec, VolumeMount } from '../../src/api/generated/core-v1.ts'
import { envOf, shell } from './cells.ts'
import type { Environment } from './environments.ts'
import { BASE_IMAGE } from './images.ts'

/** What is raced: how a container mounts the folder `i` of the volume `v`. */
export interface Race {
  readonly name: string
  readonly idea: string
  readonly mounts: (i: number) => VolumeMount[]
  /** Where the container finds what it was given. */
  readonly place: (i: number) => string
  readonly container?: Partial<Container>
  /** The node refuses a mount that is a link just then. */
  readonly refusesLinks?: true
}

export interface RaceResult {
  attempts: number
  /** Containers that ran with all their mounts, and those that were refused one. */
  ran: number
  refused: number
  /** All that containers wrote. */
  text: string
}

const CONTAINERS = 6
const MOUNTS = 30
const PODS_AT_ONCE = 1

const NUMBERS = Array.from({ length: MOUNTS }, (_, i) => i)
const UP = '../../../../../../../../../../../..'
/** Half of the links are absolute, half lead through a descriptor. */
const PREPARE = `for i in ${NUMBERS.join(' ')}; do mkdir /v/$i; if [ $((i % 2)) = 0 ]; then ln -s $GOAL /v/link-$i; else ln -s /proc/self/fd/7/${UP}$GOAL /v/link-$i; fi; done`

export async function runRace(environment: Environment, race: Race, wanted: number): Promise<RaceResult> {
  const result: RaceResult = { attempts: 0, ran: 0, refused: 0, text: '' }
  // A container that is refused a mount counts as one attempt: the end comes also if all are.
  for (let round = 0; result.attempts < wanted && round * PODS_AT_ONCE * CONTAINERS < wanted; round++) {
    const names = Array.from({ length: PODS_AT_ONCE }, (_, i) => `race-${round}-${i}`)
    await environment.apply(...names.map((name) => podOf(environment, race, name)))
    for (const name of names) {
      const { status } = await environment.until(name, (pod) => victims(pod).every(isOver), 90)
      count(result, status?.containerStatuses ?? [])
      for (let i = 0; i < CONTAINERS; i++) result.text += environment.log(name, `victim-${i}`)
    }
    await environment.ask('delete', 'pod', ...names, '--now')
  }
  return result
}

const victims = ({ status }: Pod) => {
  const all = status?.containerStatuses ?? []
  return all.length === CONTAINERS ? all : [undefined]
}

const isOver = (status: ContainerStatus | undefined) =>
  status?.state?.terminated !== undefined || /Error|BackOff/.test(status?.state?.waiting?.reason ?? '')

function count(result: RaceResult, statuses: readonly ContainerStatus[]): void {
  for (const { state } of statuses) {
    const hasRun = state?.terminated?.exitCode === 0
    result.attempts += hasRun ? MOUNTS : 1
    result[hasRun ? 'ran' : 'refused']++
  }
}

function podOf(environment: Environment, { mounts, place, container }: Race, name: string) {
  const env = envOf(environment.canaries)
  const whole = { name: 'v', mountPath: '/v' }
  const base = { image: BASE_IMAGE, env, volumeMounts: [whole] }
  const look = NUMBERS.map((i) => `cat ${place(i)}/secret; echo escaped > ${place(i)}/raced`).join('; ')
  const spec: PodSpec = {
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: 0,
    initContainers: [
      { ...base, name: 'prepare', command: shell(PREPARE) },
      { ...base, name: 'racer', restartPolicy: 'Always', command: ['/bin/attacker', 'cycle', '/v', String(MOUNTS)] },
    ],
    containers: Array.from({ length: CONTAINERS }, (_, i) => ({
      ...base,
      name: `victim-${i}`,
      command: shell(`${look}; echo held`),
      ...container,
      volumeMounts: NUMBERS.flatMap(mounts),
    })),
    volumes: [
      { name: 'v', emptyDir: {} },
      { name: 'other', emptyDir: {} },
    ],
  }
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec }
}
