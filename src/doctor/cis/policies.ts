/** 5.2 to 5.6: what pods may do, networks, secrets and namespaces. */
import type { Pod } from '../../api/generated/core-v1.ts'
import { passIf, unknown } from '../control.ts'
import type { ObjectFacts, PodProbe } from '../facts.ts'
import { advised, some } from './rows.ts'

const LEVEL = 'pod-security.kubernetes.io/enforce'
const BASELINE = `kubectl label namespace NAME ${LEVEL}=baseline`
const RESTRICTED = `kubectl label namespace NAME ${LEVEL}=restricted`
const SYSTEM_NAMESPACES = new Set(['kube-system', 'kube-public', 'kube-node-lease'])

const userNamespaces = ({ namespaces }: ObjectFacts) =>
  namespaces.map(({ metadata }) => metadata.name!).filter((name) => !SYSTEM_NAMESPACES.has(name))

const userPods = ({ pods }: ObjectFacts) =>
  pods.filter(({ metadata }) => !SYSTEM_NAMESPACES.has(metadata.namespace ?? ''))
const podName = ({ metadata }: Pod) => `pod ${metadata.namespace}/${metadata.name}`
const none = (found: readonly string[], good: string) =>
  passIf(found.length === 0, found.length === 0 ? good : some(found))

/** Such a pod was tried, without being created, in every namespace of users. */
const refusedEverywhere = (id: string, title: string, remedy: string, probe: PodProbe) =>
  advised(id, title, remedy, ({ objects: { admits } }) =>
    none(
      admits[probe].map((namespace) => `namespace ${namespace} admits it`),
      'every namespace of users refuses it',
    ),
  )

const podSecurity = [
  advised('5.2.1', 'Some policy decides which pods are admitted', BASELINE, ({ objects }) => {
    const labelled = objects.namespaces
      .filter(({ metadata }) => metadata.labels?.[LEVEL] !== undefined)
      .map(({ metadata }) => `namespace ${metadata.name}`)
    const found = [...labelled, ...objects.podPolicies]
    return passIf(
      found.length > 0,
      found.length > 0 ? some(found) : 'no namespace has a level, and no policy or webhook looks at pods',
    )
  }),
  refusedEverywhere('5.2.2', 'Privileged containers are refused', BASELINE, 'privileged'),
  refusedEverywhere('5.2.3', 'Containers cannot see the processes of the node', BASELINE, 'host PID'),
  refusedEverywhere('5.2.4', 'Containers cannot share memory with the node', BASELINE, 'host IPC'),
  refusedEverywhere('5.2.5', 'Containers cannot use the network of the node', BASELINE, 'host network'),
  refusedEverywhere('5.2.6', 'Containers cannot gain rights', RESTRICTED, 'privilege escalation'),
  refusedEverywhere('5.2.7', 'Containers do not run as root', RESTRICTED, 'root'),
  refusedEverywhere('5.2.8', 'Containers cannot make raw packets', RESTRICTED, 'NET_RAW'),
  refusedEverywhere('5.2.9', 'Containers get no capabilities', RESTRICTED, 'capabilities'),
  refusedEverywhere('5.2.10', 'Windows HostProcess containers are refused', BASELINE, 'HostProcess'),
  refusedEverywhere('5.2.11', 'Containers cannot mount folders of the node', BASELINE, 'host path'),
  refusedEverywhere('5.2.12', 'Containers cannot use ports of the node', BASELINE, 'host port'),
]

const network = [
  advised(
    '5.3.1',
    'The pod network enforces NetworkPolicies',
    'use a CNI plugin that does: sampan up --container-runtime-endpoint SOCKET',
    ({ objects }) =>
      unknown(
        `${objects.namespacesWithNetworkPolicy.length} namespaces have a NetworkPolicy; whether they are enforced is not seen from here`,
      ),
  ),
  advised(
    '5.3.2',
    'Every namespace has a NetworkPolicy',
    'kubectl create -f a NetworkPolicy in each namespace',
    ({ objects }) =>
      none(
        userNamespaces(objects)
          .filter((name) => !objects.namespacesWithNetworkPolicy.includes(name))
          .map((name) => `namespace ${name} has none`),
        'every namespace of users has one',
      ),
  ),
]

const containersOf = ({ spec }: Pod) => [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])]

/** Kubernetes made it, not a user. */
const OWN_SERVICES = new Set(['kubernetes'])

const secrets = [
  advised(
    '5.4.1',
    'Secrets are mounted as files, not set in the environment',
    'mount the Secret as a volume',
    ({ objects }) => {
      const inEnvironment = userPods(objects).filter((pod) =>
        containersOf(pod).some(
          ({ env = [], envFrom = [] }) =>
            env.some(({ valueFrom }) => valueFrom?.secretKeyRef) || envFrom.some(({ secretRef }) => secretRef),
        ),
      )
      return none(inEnvironment.map(podName), 'no pod of users has a Secret in its environment')
    },
  ),
  advised(
    '5.4.2',
    'Secrets are kept outside the cluster',
    'sampan up --encryption-config FILE with a kms provider',
    ({ encryption, objects }) => {
      const provider = encryption?.firstProviders.secrets
      if (provider === 'kms') return { outcome: 'pass', evidence: 'keys of Secrets are kept by a KMS' }
      return unknown(
        `${objects.secrets.length} Secrets are in the store, ${provider ? `encrypted by ${provider}` : 'not encrypted'}`,
      )
    },
  ),
]

const general = [
  advised(
    '5.5.1',
    'A policy decides which images are admitted',
    'create a ValidatingAdmissionPolicy for images of pods',
    ({ objects: { podPolicies } }) =>
      podPolicies.length > 0
        ? unknown(`look at pods: ${some(podPolicies)}`)
        : passIf(false, 'no policy and no webhook looks at pods'),
  ),
  advised(
    '5.6.1',
    'Namespaces separate those who share the cluster',
    'kubectl create namespace NAME',
    ({ objects }) => {
      const others = userNamespaces(objects).filter((name) => name !== 'default')
      return passIf(others.length > 0, others.length > 0 ? some(others) : 'there is only the namespace default')
    },
  ),
  advised(
    '5.6.2',
    'Pods have the seccomp profile of the runtime',
    'set securityContext.seccompProfile.type: RuntimeDefault',
    ({ objects, nodes }) => {
      const isDefault = nodes.length > 0 && nodes.every(({ configuration }) => configuration.seccompDefault === true)
      const without = userPods(objects).filter((pod) => !isDefault && !hasSeccomp(pod))
      return none(without.map(podName), isDefault ? 'nodes set it by default' : 'all pods of users have one')
    },
  ),
  advised(
    '5.6.3',
    'Pods and containers have a security context',
    'set securityContext on pods and containers',
    ({ objects }) => {
      const without = userPods(objects).filter((pod) => !hasContext(pod))
      return none(without.map(podName), 'all pods of users have one')
    },
  ),
  advised(
    '5.6.4',
    'The namespace default is not used',
    'create what is in default in a namespace of its own',
    ({ objects }) => {
      const inDefault = <T extends { metadata: { namespace?: string } }>(all: readonly T[]) =>
        all.filter(({ metadata }) => metadata.namespace === 'default')
      const services = inDefault(objects.services).filter(({ metadata }) => !OWN_SERVICES.has(metadata.name!))
      const found = [
        ...inDefault(objects.pods).map(podName),
        ...services.map(({ metadata }) => `service default/${metadata.name}`),
      ]
      return none(found, 'it is empty')
    },
  ),
]

const hasSeccomp = (pod: Pod) =>
  pod.spec?.securityContext?.seccompProfile !== undefined ||
  containersOf(pod).every(({ securityContext }) => securityContext?.seccompProfile !== undefined)

const hasContext = (pod: Pod) =>
  Object.keys(pod.spec?.securityContext ?? {}).length > 0 ||
  containersOf(pod).every(({ securityContext }) => Object.keys(securityContext ?? {}).length > 0)

export const policies = [...podSecurity, ...network, ...secrets, ...general]
