import type { ExecAction, HTTPGetAction, Lifecycle, LifecycleHandler, Probe } from '../../../generated/core-v1.ts'
import { type FieldError, forbidden, invalid, notSupported, required } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import { isHttpHeaderName, isPortName, isPortNumber } from '../../../meta/names.ts'
import { type PodCheck, refuse, refuseField } from './pod-check.ts'

const SCHEMES = ['HTTP', 'HTTPS']

export function validateLifecycle(check: PodCheck, lifecycle: Lifecycle, path: FieldPath): void {
  if (lifecycle.postStart) validateHandler(check, lifecycle.postStart, path.child('postStart'))
  if (lifecycle.preStop) validateHandler(check, lifecycle.preStop, path.child('preStop'))
}

/** Of the ways to ask a container something, exactly one must be named. */
export function validateHandler(check: PodCheck, handler: Probe & LifecycleHandler, path: FieldPath): void {
  const { errors } = check
  let handlers = 0
  const only = (field: string, validate: (path: FieldPath) => void) => {
    if (handlers++ > 0) errors.push(forbidden(path.child(field), 'may not specify more than 1 handler type'))
    else validate(path.child(field))
  }
  const { exec, httpGet, tcpSocket, grpc, sleep } = handler
  if (exec) only('exec', (at) => checkExec(exec, at, errors))
  if (httpGet) only('httpGet', (at) => checkHttpGet(httpGet, at, errors))
  if (tcpSocket) only('tcpSocket', (at) => checkPort(tcpSocket.port, at.child('port'), errors))
  if (grpc) only('grpc', (at) => checkPort(grpc.port, at.child('port'), errors))
  if (sleep) only('sleep', (at) => checkSleep(check, sleep.seconds ?? 0, at))
  if (handlers === 0) errors.push(required(path, 'must specify a handler type'))
}

function checkExec(exec: ExecAction, path: FieldPath, errors: FieldError[]): void {
  if (!exec.command?.length) errors.push(required(path.child('command')))
}

function checkHttpGet(action: HTTPGetAction, path: FieldPath, errors: FieldError[]): void {
  if (!action.path) errors.push(required(path.child('path')))
  checkPort(action.port, path.child('port'), errors)
  if (!SCHEMES.includes(action.scheme ?? '')) errors.push(notSupported(path.child('scheme'), action.scheme, SCHEMES))
  for (const header of action.httpHeaders ?? [])
    refuseField(errors, path, 'httpHeaders', header.name ?? '', isHttpHeaderName(header.name ?? ''))
}

/** A number, or the name of a port of the container. */
function checkPort(port: number | string | undefined, path: FieldPath, errors: FieldError[]): void {
  const value = port ?? 0
  refuse(errors, path, value, typeof value === 'number' ? isPortNumber(value) : isPortName(value))
}

function checkSleep(check: PodCheck, seconds: number, path: FieldPath): void {
  const grace = check.spec.terminationGracePeriodSeconds
  if (grace !== undefined && (seconds < 0 || seconds > grace))
    check.errors.push(
      invalid(path, seconds, `must be non-negative and less than terminationGracePeriodSeconds (${grace})`),
    )
}
