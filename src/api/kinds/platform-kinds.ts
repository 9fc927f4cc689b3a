import type { Kind } from '../kind.ts'
import { mutatingAdmissionPolicyKind } from './admissionregistration/mutating-admission-policy.ts'
import { mutatingAdmissionPolicyBindingKind } from './admissionregistration/mutating-admission-policy-binding.ts'
import { mutatingWebhookConfigurationKind } from './admissionregistration/mutating-webhook-configuration.ts'
import { validatingAdmissionPolicyKind } from './admissionregistration/validating-admission-policy.ts'
import { validatingAdmissionPolicyBindingKind } from './admissionregistration/validating-admission-policy-binding.ts'
import { validatingWebhookConfigurationKind } from './admissionregistration/validating-webhook-configuration.ts'
import { customResourceDefinitionKind } from './apiextensions/custom-resource-definition/kind.ts'
import { apiServiceKind } from './apiregistration/api-service.ts'
import { selfSubjectReviewKind, tokenReviewKind } from './authentication/reviews.ts'
import {
  localSubjectAccessReviewKind,
  selfSubjectAccessReviewKind,
  selfSubjectRulesReviewKind,
  subjectAccessReviewKind,
} from './authorization/reviews.ts'
import { certificateSigningRequestKind } from './certificates/certificate-signing-request.ts'
import { leaseKind } from './coordination/lease.ts'
import { componentStatusKind } from './core/component-status.ts'
import { configMapKind } from './core/config-map.ts'
import { eventKind } from './core/event/kind.ts'
import { limitRangeKind } from './core/limit-range.ts'
import { namespaceKind } from './core/namespace.ts'
import { nodeKind } from './core/node/kind.ts'
import { persistentVolumeKind } from './core/persistent-volume/kind.ts'
import { persistentVolumeClaimKind } from './core/persistent-volume-claim/kind.ts'
import { resourceQuotaKind } from './core/resource-quota.ts'
import { secretKind } from './core/secret.ts'
import { serviceAccountKind } from './core/service-account.ts'
import { eventsEventKind } from './events/event.ts'
import { flowSchemaKind } from './flowcontrol/flow-schema.ts'
import { priorityLevelConfigurationKind } from './flowcontrol/priority-level-configuration.ts'
import { runtimeClassKind } from './node/runtime-class.ts'
import { clusterRoleKind } from './rbac/cluster-role.ts'
import { clusterRoleBindingKind } from './rbac/cluster-role-binding.ts'
import { roleKind } from './rbac/role.ts'
import { roleBindingKind } from './rbac/role-binding.ts'
import { deviceClassKind } from './resource/device-class.ts'
import { resourceClaimKind } from './resource/resource-claim.ts'
import { resourceClaimTemplateKind } from './resource/resource-claim-template.ts'
import { resourceSliceKind } from './resource/resource-slice.ts'
import { priorityClassKind } from './scheduling/priority-class.ts'
import { csiDriverKind } from './storage/csi-driver.ts'
import { csiNodeKind } from './storage/csi-node.ts'
import { csiStorageCapacityKind } from './storage/csi-storage-capacity.ts'
import { storageClassKind } from './storage/storage-class.ts'
import { volumeAttachmentKind } from './storage/volume-attachment.ts'
import { volumeAttributesClassKind } from './storage/volume-attributes-class.ts'

/** Every kind that neither runs pods nor connects them: configuration, storage, access, extension. */
export const platformKinds: readonly Kind[] = [
  componentStatusKind,
  configMapKind,
  eventKind,
  limitRangeKind,
  namespaceKind,
  nodeKind,
  persistentVolumeClaimKind,
  persistentVolumeKind,
  resourceQuotaKind,
  secretKind,
  serviceAccountKind,
  apiServiceKind,
  eventsEventKind,
  selfSubjectReviewKind,
  tokenReviewKind,
  localSubjectAccessReviewKind,
  selfSubjectAccessReviewKind,
  selfSubjectRulesReviewKind,
  subjectAccessReviewKind,
  certificateSigningRequestKind,
  clusterRoleBindingKind,
  clusterRoleKind,
  roleBindingKind,
  roleKind,
  csiDriverKind,
  csiNodeKind,
  csiStorageCapacityKind,
  storageClassKind,
  volumeAttachmentKind,
  volumeAttributesClassKind,
  mutatingAdmissionPolicyKind,
  mutatingAdmissionPolicyBindingKind,
  mutatingWebhookConfigurationKind,
  validatingAdmissionPolicyKind,
  validatingAdmissionPolicyBindingKind,
  validatingWebhookConfigurationKind,
  customResourceDefinitionKind,
  priorityClassKind,
  leaseKind,
  runtimeClassKind,
  flowSchemaKind,
  priorityLevelConfigurationKind,
  deviceClassKind,
  resourceClaimKind,
  resourceClaimTemplateKind,
  resourceSliceKind,
]
