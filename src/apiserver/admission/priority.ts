import type { Pod, PodSpec } from '../../api/generated/core-v1.ts'
import type { PriorityClass } from '../../api/generated/scheduling-v1.ts'
import { forbiddenAccess } from '../../api/meta/api-error.ts'
import type { Lister } from './lister.ts'
import type { AdmissionPlugin, AdmissionRequest } from './plugin.ts'

const PODS = { group: '', resource: 'pods' }
const PRIORITY_CLASSES = { group: 'scheduling.k8s.io', resource: 'priorityclasses' }
/** Of a pod without a class where no class is the default. */
const NO_CLASS = { value: 0, preemptionPolicy: 'PreemptLowerPriority' }

/** The class of a pod decides its priority; there is one default class at most. */
export function priority(classes: Lister<PriorityClass>): AdmissionPlugin {
  const findDefault = defaultFinder(classes)
  const setPriority = async (spec: PodSpec, name: string) => {
    const className = spec.priorityClassName
    const found = className ? await classes.get(className) : await findDefault()
    if (className && !found) throw forbiddenAccess(PODS, name, `no PriorityClass with name ${className} was found`)
    const problem = takePriority(spec, found)
    if (problem) throw forbiddenAccess(PODS, name, problem)
  }
  return {
    name: 'Priority',
    resources: ['pods', 'priorityclasses.scheduling.k8s.io'],
    admit({ operation, kind, subresource, draft, old, name }) {
      if (kind.plural !== 'pods' || kind.group !== '' || subresource !== '') return
      const spec = (draft as Pod | undefined)?.spec
      if (!spec) return
      if (operation === 'CREATE') return setPriority(spec, name)
      if (operation === 'UPDATE') keepPriority(spec, (old as Pod | undefined)?.spec)
    },
    validate(request) {
      if (request.kind.plural !== 'priorityclasses' || request.kind.group !== PRIORITY_CLASSES.group) return
      if (!(request.draft as PriorityClass | undefined)?.globalDefault) return
      return mustBeOnlyDefault(request, findDefault)
    },
  }
}

/** There may be several defaults after a race; the lowest counts. */
function defaultFinder(classes: Lister<PriorityClass>): () => Promise<PriorityClass | undefined> {
  let seen: readonly PriorityClass[] | undefined
  let found: PriorityClass | undefined
  return async () => {
    const all = await classes.list()
    if (all !== seen) {
      seen = all
      found = all.filter((each) => each.globalDefault).sort((a, b) => (a.value ?? 0) - (b.value ?? 0))[0]
    }
    return found
  }
}

function takePriority(spec: PodSpec, found: PriorityClass | undefined): string | undefined {
  const { value = 0, preemptionPolicy } = found ?? NO_CLASS
  const from = 'priority admission controller computed'
  if (spec.priority !== undefined && spec.priority !== value) {
    return `the integer value of priority (${spec.priority}) must not be provided in pod spec; ${from} ${value} from the given PriorityClass name`
  }
  if (preemptionPolicy && spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== preemptionPolicy) {
    return `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; ${from} ${preemptionPolicy} from the given PriorityClass name`
  }
  if (found?.metadata.name) spec.priorityClassName = found.metadata.name
  spec.priority = value
  if (preemptionPolicy) spec.preemptionPolicy = preemptionPolicy
  return undefined
}

/** Whoever sends the pod as they once wrote it does not mean to take away what was computed. */
function keepPriority(spec: PodSpec, old: PodSpec | undefined): void {
  if (spec.priority === undefined && old?.priority !== undefined) spec.priority = old.priority
  if (spec.preemptionPolicy === undefined && old?.preemptionPolicy !== undefined)
    spec.preemptionPolicy = old.preemptionPolicy
}

async function mustBeOnlyDefault(
  { operation, name }: AdmissionRequest,
  findDefault: () => Promise<PriorityClass | undefined>,
): Promise<void> {
  if (operation !== 'CREATE' && operation !== 'UPDATE') return
  const other = (await findDefault())?.metadata.name
  if (other === undefined || (operation === 'UPDATE' && other === name)) return
  const message = `PriorityClass ${other} is already marked as default. Only one default can exist`
  throw forbiddenAccess(PRIORITY_CLASSES, name, message)
}
