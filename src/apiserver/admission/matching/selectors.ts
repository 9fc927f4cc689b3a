import type { Namespace } from '../../../api/generated/core-v1.ts'
import { objectNotFound } from '../../../api/meta/api-error.ts'
import {
  compileLabelSelector,
  EVERYTHING,
  type LabelSelector,
  type Labels,
  matchesLabels,
  type Selector,
  selectsEverything,
} from '../../../api/meta/label-selector.ts'
import type { Lister } from '../lister.ts'
import type { AdmissionRequest } from '../plugin.ts'

export const selectorOf = (selector: object | undefined): Selector =>
  selector ? compileLabelSelector(selector as LabelSelector) : EVERYTHING

/** The labels of the object as it was or as it will be; an object without labels has none. */
export function selectsObject(selector: Selector, { draft, old }: AdmissionRequest): boolean {
  if (selectsEverything(selector)) return true
  const has = (labels: Labels) => matchesLabels(selector, labels)
  return (draft !== undefined && has(draft.metadata?.labels)) || (old !== undefined && has(old.metadata.labels))
}

export async function selectsNamespace(
  selector: Selector,
  request: AdmissionRequest,
  namespaces: Lister<Namespace>,
): Promise<boolean> {
  if (selectsEverything(selector)) return true
  const namespace = await namespaceOf(request, namespaces)
  return namespace === undefined || matchesLabels(selector, namespace.metadata.labels)
}

/** The namespace a request is about; undefined where it is about none. */
export async function namespaceOf(
  request: AdmissionRequest,
  namespaces: Lister<Namespace>,
): Promise<Namespace | undefined> {
  const { kind, operation, subresource, draft } = request
  const isNamespace = kind.group === '' && kind.plural === 'namespaces'
  // One that is being made or changed is not known yet as it will be.
  if (isNamespace && subresource === '' && (operation === 'CREATE' || operation === 'UPDATE')) return draft as Namespace
  const name = isNamespace ? request.name : request.namespace
  if (name === '') return undefined
  const found = await namespaces.get(name)
  if (!found) throw objectNotFound({ group: '', resource: 'namespaces' }, name)
  return found
}

const REGISTRATION = 'admissionregistration.k8s.io'

/** Nobody is asked about who is asked: a wrong answer could never be put right again. */
export const isExempt = ({ kind }: AdmissionRequest) => kind.group === REGISTRATION
