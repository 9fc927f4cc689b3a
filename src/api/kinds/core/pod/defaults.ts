import type {
  Container,
  EphemeralContainer,
  HTTPGetAction,
  LifecycleHandler,
  Pod,
  PodSpec,
  PodTemplateSpec,
  Probe,
} from '../../../generated/core-v1.ts'
import { isPodLevelResource, mayExceedRequest } from '../resource-names.ts'
import { forgetFieldsOfClosedFeatures } from './disabled-fields.ts'
import { defaultPullPolicy } from './image.ts'
import { aggregateRequests, canonicalResources } from './resources.ts'
import { volumeDefaults } from './volume-defaults.ts'

/** What a pod has beyond its spec's defaults; a template leaves these to the pod that is made of it. */
export function podDefaults(pod: Pod): void {
  pod.spec ??= { containers: [] }
  podSpecDefaults(pod.spec)
  const { spec } = pod
  for (const container of spec.containers) requestsFromLimits(container)
  for (const container of spec.initContainers ?? []) requestsFromLimits(container)
  podLevelRequests(spec)
  spec.enableServiceLinks ??= true
  if (spec.hostNetwork) {
    for (const container of spec.containers) hostPortsOnHostNetwork(container)
    for (const container of spec.initContainers ?? []) hostPortsOnHostNetwork(container)
  }
}

/** The template of a workload always has metadata and a spec, if only empty ones. */
export function podTemplateDefaults(owner: { template?: PodTemplateSpec }): void {
  owner.template ??= {}
  owner.template.metadata ??= {}
  owner.template.spec ??= { containers: [] }
  podSpecDefaults(owner.template.spec)
}

export function podSpecDefaults(spec: PodSpec): void {
  spec.containers ??= []
  forgetFieldsOfClosedFeatures(spec)
  for (const container of spec.containers) containerDefaults(container)
  for (const container of spec.initContainers ?? []) containerDefaults(container)
  for (const container of spec.ephemeralContainers ?? []) containerDefaults(container)
  for (const volume of spec.volumes ?? []) volumeDefaults(volume)
  canonicalResources(spec.resources)
  if (spec.overhead) canonicalResources({ limits: spec.overhead })
  // Empty strings count as unset, as they do in Go.
  spec.restartPolicy ||= 'Always'
  spec.terminationGracePeriodSeconds ??= 30
  spec.dnsPolicy ||= 'ClusterFirst'
  spec.securityContext ??= {}
  spec.schedulerName ||= 'default-scheduler'
  serviceAccountAliases(spec)
}

/** `serviceAccount` is the old name of `serviceAccountName`; both are shown, and the new one wins. */
function serviceAccountAliases(spec: PodSpec): void {
  const name = spec.serviceAccountName || spec.serviceAccount
  if (!name) return
  spec.serviceAccountName = name
  spec.serviceAccount = name
}

function containerDefaults(container: Container | EphemeralContainer): void {
  container.resources ??= {}
  canonicalResources(container.resources)
  container.terminationMessagePath ||= '/dev/termination-log'
  container.terminationMessagePolicy ||= 'File'
  container.imagePullPolicy ||= defaultPullPolicy(container.image ?? '')
  for (const port of container.ports ?? []) port.protocol ||= 'TCP'
  for (const variable of container.env ?? []) {
    const source = variable.valueFrom
    if (source?.fieldRef) source.fieldRef.apiVersion ||= 'v1'
    if (source?.fileKeyRef) source.fileKeyRef.optional ??= false
  }
  probeDefaults(container.livenessProbe)
  probeDefaults(container.readinessProbe)
  probeDefaults(container.startupProbe)
  handlerDefaults(container.lifecycle?.postStart)
  handlerDefaults(container.lifecycle?.preStop)
}

function probeDefaults(probe: Probe | undefined): void {
  if (!probe) return
  httpGetDefaults(probe.httpGet)
  if (probe.grpc) probe.grpc.service ??= ''
  probe.timeoutSeconds ||= 1
  probe.periodSeconds ||= 10
  probe.successThreshold ||= 1
  probe.failureThreshold ||= 3
}

function handlerDefaults(handler: LifecycleHandler | undefined): void {
  httpGetDefaults(handler?.httpGet)
}

function httpGetDefaults(action: HTTPGetAction | undefined): void {
  if (!action) return
  action.path ||= '/'
  action.scheme ||= 'HTTP'
}

function requestsFromLimits(container: Container): void {
  const resources = container.resources
  if (!resources?.limits) return
  resources.requests ??= {}
  for (const [name, limit] of Object.entries(resources.limits)) {
    if (!Object.hasOwn(resources.requests, name)) resources.requests[name] = limit
  }
}

/** A pod with limits of its own asks for what its containers ask together, else for its limit. */
function podLevelRequests(spec: PodSpec): void {
  const limits = spec.resources?.limits
  if (!spec.resources || !limits || Object.keys(limits).length === 0) return
  const requests = { ...spec.resources.requests }
  for (const [name, sum] of aggregateRequests(spec)) {
    if (!Object.hasOwn(requests, name) && isPodLevelResource(name) && mayExceedRequest(name)) requests[name] = sum
  }
  for (const [name, limit] of Object.entries(limits)) {
    if (!Object.hasOwn(requests, name) && isPodLevelResource(name)) requests[name] = limit
  }
  if (Object.keys(requests).length > 0) spec.resources.requests = requests
}

function hostPortsOnHostNetwork(container: Container): void {
  for (const port of container.ports ?? []) port.hostPort ||= port.containerPort
}
