import type { CertificateSigningRequest } from '../../api/generated/certificates-v1.ts'
import type { Namespace, Pod, Secret, Service, ServiceAccount } from '../../api/generated/core-v1.ts'
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from '../../api/generated/rbac-v1.ts'
import type { KubernetesObject } from '../../api/meta/object.ts'
import { SIGNER } from '../../api/meta/well-known.ts'
import type { HttpTransport } from '../../client/http-transport.ts'
import type { ObjectFacts } from '../facts.ts'
import { admittedPods } from './pod-probes.ts'

const SYSTEM_NAMESPACES = new Set(['kube-system', 'kube-public', 'kube-node-lease'])
const RBAC = 'rbac.authorization.k8s.io'
const ADMISSION = 'admissionregistration.k8s.io'
const USER_SIGNER = SIGNER.apiserverClient

export async function objectFacts(api: HttpTransport): Promise<ObjectFacts> {
  const list = async <T>(group: string, plural: string): Promise<T[]> => {
    const resource = { group, version: 'v1', plural, namespaced: false }
    return ((await api.call({ verb: 'list', resource })).items ?? []) as T[]
  }
  const [namespaces, pods, services, secrets, serviceAccounts] = await Promise.all([
    list<Namespace>('', 'namespaces'),
    list<Pod>('', 'pods'),
    list<Service>('', 'services'),
    list<Secret>('', 'secrets'),
    list<ServiceAccount>('', 'serviceaccounts'),
  ])
  const [roles, clusterRoles, bindings, clusterBindings, requests, networkPolicies] = await Promise.all([
    list<Role>(RBAC, 'roles'),
    list<ClusterRole>(RBAC, 'clusterroles'),
    list<RoleBinding>(RBAC, 'rolebindings'),
    list<ClusterRoleBinding>(RBAC, 'clusterrolebindings'),
    list<CertificateSigningRequest>('certificates.k8s.io', 'certificatesigningrequests'),
    list<KubernetesObject>('networking.k8s.io', 'networkpolicies'),
  ])
  const policies = await Promise.all(
    ['validatingadmissionpolicies', 'validatingwebhookconfigurations'].map((plural) =>
      list<KubernetesObject>(ADMISSION, plural),
    ),
  )
  return {
    namespaces,
    pods,
    services,
    secrets,
    serviceAccounts,
    roles: [...roles, ...clusterRoles],
    bindings: [...bindings, ...clusterBindings],
    namespacesWithNetworkPolicy: [...new Set(networkPolicies.map(({ metadata }) => metadata.namespace!))],
    userCertificates: requests
      .filter(({ spec, status }) => spec.signerName === USER_SIGNER && status?.certificate !== undefined)
      .map(({ metadata }) => metadata.name!),
    podPolicies: policies
      .flat()
      .filter(looksAtPods)
      .map(({ metadata }) => metadata.name!),
    admits: await admittedPods(api, usable(namespaces)),
  }
}

const usable = (namespaces: readonly Namespace[]) =>
  namespaces
    .filter(({ metadata, status }) => !SYSTEM_NAMESPACES.has(metadata.name!) && status?.phase !== 'Terminating')
    .map(({ metadata }) => metadata.name!)

/** A policy or a webhook with a rule for pods. */
function looksAtPods(object: KubernetesObject): boolean {
  const { spec, webhooks } = object as {
    spec?: { matchConstraints?: { resourceRules?: { resources?: string[] }[] } }
    webhooks?: { rules?: { resources?: string[] }[] }[]
  }
  const rules = [
    ...(spec?.matchConstraints?.resourceRules ?? []),
    ...(webhooks ?? []).flatMap((one) => one.rules ?? []),
  ]
  return rules.some(({ resources = [] }) =>
    resources.some((resource) => ['*', '*/*', 'pods', 'pods/*'].includes(resource)),
  )
}
