import type { IngressClass, IngressClassParametersReference } from '../../generated/networking-v1.ts'
import { defineKind } from '../../kind.ts'
import { type FieldError, forbidden, invalid, notSupported, required, tooLong } from '../../meta/field-error.ts'
import { FieldPath } from '../../meta/field-path.ts'
import { isDns1123Label, isDns1123Subdomain } from '../../meta/names.ts'
import { ANNOTATION } from '../../meta/well-known.ts'
import { raiseGeneration } from '../../strategy.ts'
import { ageColumn, column } from '../core/printed-columns.ts'
import { addInvalid } from '../core/service/port-validation.ts'
import { validateReference } from './ingress/backend-validation.ts'

const SPEC = FieldPath.root('spec')
const CONTROLLER = SPEC.child('controller')
const SCOPES = ['Cluster', 'Namespace'] as const
const MAX_CONTROLLER_LENGTH = 250
const PATH_FORMAT = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+"
const PATH_PATTERN = new RegExp(`^${PATH_FORMAT}$`)

export const ingressClassKind = defineKind<IngressClass>({
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'IngressClass',
  plural: 'ingressclasses',
  namespaced: false,
  schema: 'io.k8s.api.networking.v1.IngressClass',
  defaults(draft) {
    const parameters = draft.spec?.parameters
    if (parameters) parameters.scope ??= 'Cluster'
  },
  prepareCreate(draft) {
    draft.metadata.generation = 1
  },
  prepareUpdate: raiseGeneration,
  validate: validateIngressClass,
  validateUpdate(ingressClass, old) {
    const controller = ingressClass.spec?.controller ?? ''
    return controller === (old.spec?.controller ?? '') ? [] : [invalid(CONTROLLER, controller, 'field is immutable')]
  },
  columns: [
    {
      name: 'Name',
      type: 'string',
      format: 'name',
      description: 'Name of the object; the class for Ingresses that name none is marked.',
      priority: 0,
      value: ({ metadata: { name, annotations } }) =>
        annotations?.[ANNOTATION.isDefaultIngressClass] === 'true' ? `${name} (default)` : (name ?? ''),
    },
    column<IngressClass>(
      'Controller',
      'Who serves Ingresses of this class.',
      (ingressClass) => ingressClass.spec?.controller ?? '',
    ),
    column<IngressClass>('Parameters', 'Where more settings are.', (ingressClass) =>
      formatParameters(ingressClass.spec?.parameters),
    ),
    ageColumn,
  ],
})

function validateIngressClass(ingressClass: IngressClass): FieldError[] {
  const errors: FieldError[] = []
  const { controller = '', parameters } = ingressClass.spec ?? {}
  if (Buffer.byteLength(controller) > MAX_CONTROLLER_LENGTH) errors.push(tooLong(CONTROLLER, MAX_CONTROLLER_LENGTH))
  validateController(errors, controller)
  if (parameters) validateParameters(errors, parameters, SPEC.child('parameters'))
  return errors
}

/** A domain and a path below it: `example.com/ingress-controller`. */
function validateController(errors: FieldError[], controller: string): void {
  if (controller === '') {
    errors.push(required(CONTROLLER))
    return
  }
  const slash = controller.indexOf('/')
  const host = controller.slice(0, Math.max(slash, 0))
  const path = controller.slice(slash + 1)
  if (host === '' || path === '') {
    errors.push(invalid(CONTROLLER, controller, 'must be a domain-prefixed path (such as "acme.io/foo")'))
    return
  }
  addInvalid(errors, CONTROLLER, host, isDns1123Subdomain(host))
  if (!PATH_PATTERN.test(path)) {
    errors.push(invalid(CONTROLLER, path, `Invalid path (regex used for validation is '${PATH_FORMAT}')`))
  }
}

function validateParameters(errors: FieldError[], parameters: IngressClassParametersReference, path: FieldPath): void {
  validateReference(errors, parameters, path)
  const { scope, namespace } = parameters
  const namespacePath = path.child('namespace')
  if (scope === undefined) errors.push(required(path.child('scope')))
  else if (!SCOPES.includes(scope as 'Cluster')) errors.push(notSupported(path.child('scope'), scope, SCOPES))
  else if (scope === 'Cluster') {
    if (namespace !== undefined) errors.push(forbidden(namespacePath, "`parameters.scope` is set to 'Cluster'"))
  } else if (namespace === undefined) {
    errors.push(required(namespacePath, "`parameters.scope` is set to 'Namespace'"))
  } else addInvalid(errors, namespacePath, namespace, isDns1123Label(namespace))
}

function formatParameters(parameters: IngressClassParametersReference | undefined): string {
  if (!parameters) return '<none>'
  const { apiGroup, kind, name } = parameters
  return `${apiGroup === undefined ? kind : `${kind}.${apiGroup}`}/${name}`
}
