import { type FeatureGate, isEnabled } from '../api/feature-gates.ts'
import { bootstrapSignerController } from './bootstrap-signer/controller.ts'
import { certificateApprovalController } from './certificate-approval/controller.ts'
import { certificateCleanerController } from './certificate-cleaner/controller.ts'
import { type CertificateSigner, certificateSigningController } from './certificate-signing/controller.ts'
import { clusterDnsController } from './cluster-dns/controller.ts'
import { clusterRoleAggregationController } from './cluster-role-aggregation/controller.ts'
import { clusterTrustBundlePublisherController } from './cluster-trust-bundle-publisher/controller.ts'
import type { Controller, ControllerContext } from './controller.ts'
import { cronJobController } from './cronjob/controller.ts'
import { daemonSetController } from './daemonset/controller.ts'
import { deploymentController } from './deployment/controller.ts'
import { disruptionController } from './disruption/controller.ts'
import { endpointsController } from './endpoints/controller.ts'
import { endpointSliceController } from './endpointslice/controller.ts'
import { endpointSliceMirroringController } from './endpointslice-mirroring/controller.ts'
import { ephemeralVolumeController } from './ephemeral-volume/controller.ts'
import { eventExpiryController } from './event-expiry/controller.ts'
import { garbageCollectionController } from './garbage-collection/controller.ts'
import { horizontalPodAutoscalerController } from './horizontal-pod-autoscaler/controller.ts'
import { ipAddressController } from './ip-address/controller.ts'
import { jobController } from './job/controller.ts'
import { leaseCleanerController } from './lease-cleaner/controller.ts'
import { loadBalancerController } from './load-balancer/controller.ts'
import { namespaceController } from './namespace/controller.ts'
import { nodeCertificateApprovalController } from './node-certificate-approval/controller.ts'
import { nodeIpamController } from './node-ipam/controller.ts'
import { nodeLifecycleController } from './node-lifecycle/controller.ts'
import { persistentVolumeBinderController } from './persistent-volume-binder/controller.ts'
import { persistentVolumeExpanderController } from './persistent-volume-expander/controller.ts'
import { podGarbageCollectionController } from './pod-garbage-collection/controller.ts'
import { replicaSetController } from './replicaset/controller.ts'
import { replicationControllerController } from './replication-controller/controller.ts'
import { resourceQuotaController } from './resource-quota/controller.ts'
import { rootCaPublisherController } from './root-ca-publisher/controller.ts'
import { serviceAccountController } from './service-account/controller.ts'
import { serviceCIDRController } from './service-cidr/controller.ts'
import { statefulSetController } from './statefulset/controller.ts'
import { taintEvictionController } from './taint-eviction/controller.ts'
import { tokenCleanerController } from './token-cleaner/controller.ts'
import { ttlAfterFinishedController } from './ttl-after-finished/controller.ts'
import { volumeAttachmentController } from './volume-attachment/controller.ts'
import { volumeAttributesClassProtectionController } from './volume-protection/attributes-class.ts'
import {
  persistentVolumeClaimProtectionController,
  persistentVolumeProtectionController,
} from './volume-protection/controller.ts'

/** What some controllers need of the cluster besides its API. */
export interface ControlPlaneContext extends ControllerContext {
  /** PEM of the certificate that clients trust the API server by. */
  readonly rootCertificate: string
  readonly certificateSigner: CertificateSigner
  /** Where pod addresses come from, one range per family. */
  readonly clusterCidrs?: readonly string[]
  /** Where addresses of Services of type LoadBalancer come from. */
  readonly loadBalancerPools?: readonly string[]
  /** Where nodes keep the volumes that are made for claims; of the machine unless given. */
  readonly volumesDirectory?: string
}

/** Every controller of the control plane, by name. One line each. */
export const controllers: Readonly<Record<string, (context: ControlPlaneContext) => Controller>> = {
  'namespace-controller': namespaceController,
  'serviceaccount-controller': serviceAccountController,
  'root-ca-certificate-publisher-controller': rootCaPublisherController,
  'pod-garbage-collector-controller': podGarbageCollectionController,
  'ttl-after-finished-controller': ttlAfterFinishedController,
  'event-expiry-controller': eventExpiryController,
  'lease-cleaner-controller': leaseCleanerController,
  'token-cleaner-controller': tokenCleanerController,
  'bootstrap-signer-controller': bootstrapSignerController,
  'endpoints-controller': endpointsController,
  'endpointslice-controller': (context) => endpointSliceController(context),
  'endpointslice-mirroring-controller': endpointSliceMirroringController,
  'node-lifecycle-controller': nodeLifecycleController,
  'taint-eviction-controller': taintEvictionController,
  'node-ipam-controller': nodeIpamController,
  'daemonset-controller': daemonSetController,
  'deployment-controller': deploymentController,
  'replicaset-controller': replicaSetController,
  'replicationcontroller-controller': replicationControllerController,
  'statefulset-controller': statefulSetController,
  'resourcequota-controller': resourceQuotaController,
  'disruption-controller': disruptionController,
  'certificatesigningrequest-signing-controller': certificateSigningController,
  'certificatesigningrequest-approving-controller': certificateApprovalController,
  'node-certificate-approving-controller': nodeCertificateApprovalController,
  'certificatesigningrequest-cleaner-controller': certificateCleanerController,
  'cluster-dns-controller': clusterDnsController,
  'service-lb-controller': loadBalancerController,
  'clusterrole-aggregation-controller': clusterRoleAggregationController,
  'job-controller': jobController,
  'cronjob-controller': cronJobController,
  'horizontal-pod-autoscaler-controller': horizontalPodAutoscalerController,
  'persistentvolume-binder-controller': persistentVolumeBinderController,
  'ephemeral-volume-controller': ephemeralVolumeController,
  'persistentvolume-expander-controller': persistentVolumeExpanderController,
  'persistentvolume-attach-detach-controller': volumeAttachmentController,
  'persistentvolumeclaim-protection-controller': persistentVolumeClaimProtectionController,
  'persistentvolume-protection-controller': persistentVolumeProtectionController,
  'volumeattributesclass-protection-controller': volumeAttributesClassProtectionController,
  'service-cidr-controller': serviceCIDRController,
  'ip-address-controller': ipAddressController,
  'kube-apiserver-serving-clustertrustbundle-publisher-controller': clusterTrustBundlePublisherController,
  // Follows all kinds, and shares what the others follow if they are there before.
  'garbage-collector-controller': garbageCollectionController,
}

/** Controllers of kinds that are served only with a feature gate. */
const GATED: Readonly<Record<string, FeatureGate>> = {
  'kube-apiserver-serving-clustertrustbundle-publisher-controller': 'ClusterTrustBundle',
}

/** The names of those that run unless somebody chooses. */
export const defaultControllers = (): string[] =>
  Object.keys(controllers).filter((name) => GATED[name] === undefined || isEnabled(GATED[name]))
