/** 5.1: rights and service accounts. */
import { passIf } from '../control.ts'
import type { ObjectFacts } from '../facts.ts'
import { bindingsOf, bindingsTo, onlyDefaults, wildcardRoles } from './grants.ts'
import { advised, some } from './rows.ts'

const UNBIND = 'kubectl delete clusterrolebinding NAME, or bind a smaller role'
const READ = ['get', 'list', 'watch']
const RBAC = 'rbac.authorization.k8s.io'
const ADMISSION = 'admissionregistration.k8s.io'
/** Of the cluster itself. */
const SYSTEM_NAMESPACES = new Set(['kube-system', 'kube-public', 'kube-node-lease'])

const nameOf = ({ metadata }: { metadata: { namespace?: string; name?: string } }) =>
  `${metadata.namespace}/${metadata.name}`

const userPods = ({ pods }: ObjectFacts) =>
  pods.filter(({ metadata }) => !SYSTEM_NAMESPACES.has(metadata.namespace ?? ''))

/** Whether a token of its service account is put into a pod: it says so itself, or its account does. */
function mountsToken(pod: ObjectFacts['pods'][number], { serviceAccounts }: ObjectFacts): boolean {
  const account = serviceAccounts.find(
    ({ metadata }) =>
      metadata.namespace === pod.metadata.namespace && metadata.name === (pod.spec?.serviceAccountName ?? 'default'),
  )
  return pod.spec?.automountServiceAccountToken ?? account?.automountServiceAccountToken ?? true
}

const none = (found: readonly string[], good: string) =>
  passIf(found.length === 0, found.length === 0 ? good : some(found))

export const rbac = [
  advised('5.1.1', 'cluster-admin is bound where it is needed alone', UNBIND, ({ objects }) =>
    none(bindingsTo(objects, 'cluster-admin'), 'only system:masters has cluster-admin'),
  ),
  advised('5.1.2', 'Few may read Secrets', UNBIND, onlyDefaults({ verbs: READ, group: '', resources: ['secrets'] })),
  advised(
    '5.1.3',
    'Roles name what they give, without wildcards',
    'name verbs and resources in the role',
    ({ objects }) => none(wildcardRoles(objects), 'no role that was added has a wildcard'),
  ),
  advised('5.1.4', 'Few may create pods', UNBIND, onlyDefaults({ verbs: ['create'], group: '', resources: ['pods'] })),
  advised(
    '5.1.5',
    'Default service accounts are not used',
    'give pods a serviceAccountName, and set automountServiceAccountToken: false on the default one',
    ({ objects }) => {
      const bound = bindingsOf(objects, ({ kind, name }) => kind === 'ServiceAccount' && name === 'default')
      const pods = userPods(objects).filter(
        (pod) => (pod.spec?.serviceAccountName ?? 'default') === 'default' && mountsToken(pod, objects),
      )
      return none(
        [...bound, ...pods.map((pod) => `pod ${nameOf(pod)}`)],
        'no pod and no binding uses a default service account',
      )
    },
  ),
  advised(
    '5.1.6',
    'Tokens are mounted where they are needed alone',
    'set automountServiceAccountToken: false on pods',
    ({ objects }) =>
      none(
        userPods(objects)
          .filter((pod) => mountsToken(pod, objects))
          .map((pod) => `pod ${nameOf(pod)}`),
        'no pod of users mounts a token',
      ),
  ),
  advised(
    '5.1.7',
    'system:masters is not used',
    'create users of their own: kubectl create clusterrolebinding',
    ({ objects }) =>
      none(
        bindingsOf(objects, ({ kind, name }) => kind === 'Group' && name === 'system:masters'),
        'no binding that was added names system:masters',
      ),
  ),
  advised(
    '5.1.8',
    'Few may bind, impersonate or escalate',
    UNBIND,
    onlyDefaults(
      { verbs: ['bind', 'escalate'], group: RBAC, resources: ['roles', 'clusterroles'] },
      { verbs: ['impersonate'], group: '', resources: ['users', 'groups', 'serviceaccounts'] },
    ),
  ),
  advised(
    '5.1.9',
    'Few may create persistent volumes',
    UNBIND,
    onlyDefaults({ verbs: ['create'], group: '', resources: ['persistentvolumes'] }),
  ),
  advised(
    '5.1.10',
    'Few may reach kubelets through the API',
    UNBIND,
    onlyDefaults({ verbs: ['get', 'create'], group: '', resources: ['nodes/proxy'] }),
  ),
  advised(
    '5.1.11',
    'Few may approve certificates',
    UNBIND,
    onlyDefaults({
      verbs: ['update', 'patch'],
      group: 'certificates.k8s.io',
      resources: ['certificatesigningrequests/approval'],
    }),
  ),
  advised(
    '5.1.12',
    'Few may change admission webhooks',
    UNBIND,
    onlyDefaults({
      verbs: ['create', 'update', 'patch'],
      group: ADMISSION,
      resources: ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations'],
    }),
  ),
  advised(
    '5.1.13',
    'Few may create tokens of service accounts',
    UNBIND,
    onlyDefaults({ verbs: ['create'], group: '', resources: ['serviceaccounts/token'] }),
  ),
]
