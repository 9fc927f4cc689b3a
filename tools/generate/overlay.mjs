import { QUANTITY, RAW_EXTENSION } from './group-versions.mjs'

/**
 * What neither source tells: annotations of types and fields younger than v1.30, and which of their strings are
 * quantities. Keys are `<group>.<version>.<type>.<field>` below `io.k8s.api`.
 */
const map = (...keys) => ({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys })
const merge = (key) => ({ 'x-kubernetes-patch-strategy': 'merge', 'x-kubernetes-patch-merge-key': key })
const set = { 'x-kubernetes-list-type': 'set' }

export const FIELD_ANNOTATIONS = {
  'core.v1.ContainerStatus.allocatedResourcesStatus': { ...map('name'), ...merge('name') },
  'core.v1.ResourceStatus.resources': map('resourceID'),
  'core.v1.ContainerRestartRuleOnExitCodes.values': set,
  'core.v1.NodeAllocatableResourceClaimStatus.containers': set,
  'admissionregistration.v1.MutatingAdmissionPolicySpec.matchConditions': { ...map('name'), ...merge('name') },
  'networking.v1.ServiceCIDRStatus.conditions': { ...map('type'), ...merge('type') },
  'resource.v1.AllocatedDeviceStatus.conditions': map('type'),
  'resource.v1.ResourceClaimStatus.devices': map('driver', 'device', 'pool', 'shareID'),
  'resource.v1.ResourceClaimStatus.reservedFor': { ...map('uid'), ...merge('uid') },
}

export const TYPE_ANNOTATIONS = {
  'core.v1.FileKeySelector': { 'x-kubernetes-map-type': 'atomic' },
}

const ref = (definition) => ({ $ref: `#/definitions/${definition}` })
const quantity = ref(QUANTITY)
const quantities = { type: 'object', additionalProperties: quantity }

export const FIELD_TYPES = {
  'autoscaling.v2.HPAScalingRules.tolerance': quantity,
  'core.v1.NodeAllocatableResourceClaimStatus.resources': quantities,
  'core.v1.PodStatus.allocatedResources': quantities,
  'resource.v1.AllocatedDeviceStatus.data': ref(RAW_EXTENSION),
  'resource.v1.CapacityRequestPolicy.default': quantity,
  'resource.v1.CapacityRequestPolicy.validValues': { type: 'array', items: quantity },
  'resource.v1.CapacityRequestPolicyRange.max': quantity,
  'resource.v1.CapacityRequestPolicyRange.min': quantity,
  'resource.v1.CapacityRequestPolicyRange.step': quantity,
  'resource.v1.CapacityRequirements.requests': quantities,
  'resource.v1.Counter.value': quantity,
  'resource.v1.DeviceCapacity.value': quantity,
  'resource.v1.DeviceRequestAllocationResult.consumedCapacity': quantities,
  'resource.v1.NodeAllocatableResourceMapping.allocationMultiplier': quantity,
  'resource.v1.OpaqueDeviceConfiguration.parameters': ref(RAW_EXTENSION),
}

const rbd = { keyring: '/etc/ceph/keyring', pool: 'rbd', user: 'admin' }
const scaleIO = { fsType: 'xfs', storageMode: 'ThinProvisioned' }

/** The defaults that upstream declares in its types; all others are code, beside each kind. */
export const FIELD_DEFAULTS = {
  'core.v1.AzureDiskVolumeSource': { cachingMode: 'ReadWrite', fsType: 'ext4', kind: 'Shared', readOnly: false },
  'core.v1.ContainerPort': { protocol: 'TCP' },
  'core.v1.ISCSIPersistentVolumeSource': { iscsiInterface: 'default' },
  'core.v1.ISCSIVolumeSource': { iscsiInterface: 'default' },
  'core.v1.RBDPersistentVolumeSource': rbd,
  'core.v1.RBDVolumeSource': rbd,
  'core.v1.ReplicationControllerSpec': { minReadySeconds: 0, replicas: 1 },
  'core.v1.ScaleIOPersistentVolumeSource': scaleIO,
  'core.v1.ScaleIOVolumeSource': scaleIO,
  'core.v1.ServicePort': { protocol: 'TCP' },
  'resource.v1.DeviceToleration': { operator: 'Equal' },
}
