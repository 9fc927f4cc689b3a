import type { TypedLocalObjectReference } from '../../../generated/core-v1.ts'
import type { IngressBackend, IngressServiceBackend } from '../../../generated/networking-v1.ts'
import { type FieldError, invalid, required } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import { isDns1123Label, isDns1123Subdomain, isPathSegmentName, isPortName, isPortNumber } from '../../../meta/names.ts'
import { addInvalid } from '../../core/service/port-validation.ts'

/** Traffic goes to a Service, or to an object that the controller knows how to serve. */
export function validateIngressBackend(errors: FieldError[], backend: IngressBackend, path: FieldPath): void {
  const { resource, service } = backend
  if (resource && service) errors.push(invalid(path, '', 'cannot set both resource and service backends'))
  else if (resource) validateReference(errors, resource, path.child('resource'))
  else if (service) validateServiceBackend(errors, service, path)
  else errors.push(invalid(path, '', 'resource or service backend is required'))
}

function validateServiceBackend(errors: FieldError[], service: IngressServiceBackend, path: FieldPath): void {
  const namePath = path.child('service', 'name')
  if (!service.name) errors.push(required(namePath))
  else addInvalid(errors, namePath, service.name, isDns1123Label(service.name))
  const { name, number } = service.port ?? {}
  const portPath = path.child('service', 'port')
  if (name && number) errors.push(invalid(path, '', 'cannot set both port name & port number'))
  else if (name) addInvalid(errors, portPath.child('name'), name, isPortName(name))
  else if (number) addInvalid(errors, portPath.child('number'), number, isPortNumber(number))
  else errors.push(required(path, 'port name or number is required'))
}

/** An object by group, kind and name, such as a backend bucket or the parameters of an IngressClass. */
export function validateReference(errors: FieldError[], reference: TypedLocalObjectReference, path: FieldPath): void {
  const { apiGroup, kind, name } = reference
  if (apiGroup !== undefined) addInvalid(errors, path.child('apiGroup'), apiGroup, isDns1123Subdomain(apiGroup))
  validateSegment(errors, kind, path.child('kind'))
  validateSegment(errors, name, path.child('name'))
}

export function validateSegment(errors: FieldError[], value: string | undefined, path: FieldPath): void {
  if (!value) errors.push(required(path))
  else addInvalid(errors, path, value, isPathSegmentName(value, false))
}
