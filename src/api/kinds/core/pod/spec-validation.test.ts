import { describe, expect, test } from 'vitest'
import type { PodSpec } from '../../../generated/core-v1.ts'
import { createdPod, texts, withContainer } from './pod.fixture.ts'
import { validatePod } from './validation.ts'

type Row = [what: string, spec: Partial<PodSpec>, ...errors: string[]]

const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
const ID = 'must be between 0 and 2147483647, inclusive'
const expectErrors = (_what: string, spec: Partial<PodSpec>, ...errors: string[]) => {
  expect(texts(validatePod(createdPod(spec)))).toEqual(errors)
}

describe('the spec', () => {
  test.each<Row>([
    ['needs containers', { containers: [] }, 'spec.containers: Required value'],
    [
      'container names differ',
      {
        containers: [
          { name: 'a', image: 'i' },
          { name: 'a', image: 'i' },
        ],
      },
      'spec.containers[1].name: Duplicate value: "a"',
    ],
    [
      'restart policy',
      { restartPolicy: 'Sometimes' },
      'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
    ],
    [
      'dns policy',
      { dnsPolicy: 'X' },
      'spec.dnsPolicy: Unsupported value: "X": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
    ],
    [
      'own dns',
      {
        dnsPolicy: 'None',
        dnsConfig: {
          nameservers: ['1.2.3.4'],
          searches: ['a.b.', '_x.y', '.'],
          options: [{ name: 'ndots', value: '2' }],
        },
      },
    ],
    [
      'own dns without config',
      { dnsPolicy: 'None' },
      'spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None',
    ],
    [
      'own dns without server',
      { dnsPolicy: 'None', dnsConfig: {} },
      'spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None',
    ],
    [
      'nameserver',
      { dnsConfig: { nameservers: ['x'] } },
      'spec.dnsConfig.nameservers[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
    [
      'four nameservers',
      { dnsConfig: { nameservers: ['1.1.1.1', '1.1.1.2', '1.1.1.3', '1.1.1.4'] } },
      'spec.dnsConfig.nameservers: Invalid value: ["1.1.1.1","1.1.1.2","1.1.1.3","1.1.1.4"]: must not have more than 3 nameservers',
    ],
    [
      'nameless option',
      { dnsConfig: { options: [{}] } },
      'spec.dnsConfig.options[0]: Required value: must not be empty',
    ],
    [
      'deadline',
      { activeDeadlineSeconds: 0 },
      'spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive',
    ],
    ['node name', { nodeName: 'Node 1' }, `spec.nodeName: Invalid value: "Node 1": ${SUBDOMAIN}`],
    ['service account name', { serviceAccountName: 'A' }, `spec.serviceAccountName: Invalid value: "A": ${SUBDOMAIN}`],
    [
      'preemption policy',
      { preemptionPolicy: 'X' },
      'spec.preemptionPolicy: Unsupported value: "X": supported values: "PreemptLowerPriority", "Never"',
    ],
    ['node selector', { nodeSelector: { 'kubernetes.io/os': 'linux' } }],
    ['host alias', { hostAliases: [{ ip: '1.2.3.4', hostnames: ['a.b'] }] }],
    [
      'host alias address',
      { hostAliases: [{ ip: 'x' }] },
      'spec.hostAliases[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
    ['scheduling gates', { schedulingGates: [{ name: 'example.com/a' }] }],
    [
      'gate twice',
      { schedulingGates: [{ name: 'a' }, { name: 'a' }] },
      'spec.schedulingGates[1]: Duplicate value: "a"',
    ],
    [
      'gate and node',
      { nodeName: 'n', schedulingGates: [{ name: 'a' }] },
      'spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared',
    ],
    [
      'ephemeral containers at once',
      { ephemeralContainers: [{ name: 'd', image: 'i' }] },
      'spec.ephemeralContainers: Forbidden: cannot be set on create',
    ],
    [
      'overhead',
      { overhead: { cpu: '-1' } },
      'spec.overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
    ],
    [
      'host name override',
      { hostnameOverride: 'a.b', setHostnameAsFQDN: true },
      'spec.hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true',
    ],
    [
      'claim',
      {
        resourceClaims: [{ name: 'c', resourceClaimName: 'x' }],
        ...withContainer({ resources: { claims: [{ name: 'c' }] } }),
      },
    ],
    [
      'claim of nothing',
      { resourceClaims: [{ name: 'c' }] },
      'spec.resourceClaims[0]: Invalid value: {"name":"c"}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`',
    ],
  ])('%s', expectErrors)
})

describe('host namespaces and security', () => {
  const at = 'spec.containers[0].securityContext'
  test.each<Row>([
    ['host network', { hostNetwork: true, ...withContainer({ ports: [{ containerPort: 80 }] }) }],
    [
      'other host port',
      { hostNetwork: true, ...withContainer({ ports: [{ containerPort: 80, hostPort: 81 }] }) },
      'spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true',
    ],
    [
      'own users on the host network',
      { hostUsers: false, hostNetwork: true },
      'spec.hostNetwork: Forbidden: when `hostUsers` is false',
    ],
    [
      'shared processes on the host',
      { shareProcessNamespace: true, hostPID: true },
      'spec.securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled',
    ],
    ['user', { securityContext: { runAsUser: -1 } }, `spec.securityContext.runAsUser: Invalid value: -1: ${ID}`],
    [
      'groups',
      { securityContext: { supplementalGroups: [1, -1] } },
      `spec.securityContext.supplementalGroups[1]: Invalid value: -1: ${ID}`,
    ],
    ['sysctl', { securityContext: { sysctls: [{ name: 'kernel.shm_rmid_forced', value: '1' }] } }],
    [
      'bad sysctl',
      { securityContext: { sysctls: [{ name: 'A', value: '1' }] } },
      'spec.securityContext.sysctls[0].name: Invalid value: "A": must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$',
    ],
    [
      'sysctl of the host',
      { hostNetwork: true, securityContext: { sysctls: [{ name: 'net.core.somaxconn', value: '1' }] } },
      'spec.securityContext.sysctls[0].name: Invalid value: "net.core.somaxconn": may not be specified when \'hostNetwork\' is true',
    ],
    ['seccomp', { securityContext: { seccompProfile: { type: 'RuntimeDefault' } } }],
    [
      'local seccomp without file',
      { securityContext: { seccompProfile: { type: 'Localhost' } } },
      'spec.securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost',
    ],
    [
      'app armor type',
      withContainer({ securityContext: { appArmorProfile: { type: 'X' } } }),
      `${at}.appArmorProfile.type: Unsupported value: "X": supported values: "Localhost", "RuntimeDefault", "Unconfined"`,
    ],
    [
      'privileged without escalation',
      withContainer({ securityContext: { privileged: true, allowPrivilegeEscalation: false } }),
      `${at}: Invalid value: {"privileged":true,"allowPrivilegeEscalation":false}: cannot set \`allowPrivilegeEscalation\` to false and \`privileged\` to true`,
    ],
    [
      'unmasked proc',
      withContainer({ securityContext: { procMount: 'Unmasked' } }),
      `${at}.procMount: Invalid value: "Unmasked": \`hostUsers\` must be false to use \`Unmasked\``,
    ],
    [
      'fs group policy',
      { securityContext: { fsGroupChangePolicy: 'X' } },
      'spec.securityContext.fsGroupChangePolicy: Unsupported value: "X": supported values: "Always", "OnRootMismatch"',
    ],
    ['windows', { os: { name: 'windows' }, securityContext: { windowsOptions: { runAsUserName: 'DOM\\user' } } }],
    [
      'linux fields on windows',
      { os: { name: 'windows' }, hostPID: true, securityContext: { fsGroup: 1 } },
      'spec.securityContext.fsGroup: Forbidden: cannot be set for a windows pod',
      'spec.hostPID: Forbidden: cannot be set for a windows pod',
    ],
    [
      'windows fields on linux',
      { os: { name: 'linux' }, securityContext: { windowsOptions: {} } },
      'spec.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod',
    ],
    [
      'unknown system',
      { os: { name: 'beos' } },
      'spec.os: Unsupported value: "beos": supported values: "linux", "windows"',
    ],
    [
      'windows user',
      { securityContext: { windowsOptions: { runAsUserName: 'a\\b\\c' } } },
      'spec.securityContext.windowsOptions.runAsUserName: Invalid value: "a\\\\b\\\\c": runAsUserName cannot contain more than one backslash',
    ],
  ])('%s', expectErrors)
})

describe('init containers', () => {
  const init = (container: object): Partial<PodSpec> => ({
    initContainers: [{ name: 'init', image: 'i', ...container }],
  })
  const at = 'spec.initContainers[0]'
  test.each<Row>([
    ['plain', init({})],
    [
      'with the name of another',
      { initContainers: [{ name: 'app', image: 'i' }] },
      `${at}.name: Duplicate value: "app"`,
    ],
    [
      'with a probe',
      init({ livenessProbe: { tcpSocket: { port: 1 } } }),
      `${at}.livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always`,
    ],
    ['sidecar with a probe', init({ restartPolicy: 'Always', livenessProbe: { tcpSocket: { port: 1 } } })],
    [
      'sidecar with rules',
      init({
        restartPolicy: 'Always',
        restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }],
      }),
      `${at}.restartPolicyRules: Forbidden: restartPolicyRules are not allowed for init containers with restart policy Always`,
    ],
    [
      'unknown policy',
      init({ restartPolicy: 'X' }),
      `${at}.restartPolicy: Unsupported value: "X": supported values: "Always", "Never", "OnFailure"`,
    ],
  ])('%s', expectErrors)
})

describe('scheduling', () => {
  const affinity = 'spec.affinity.nodeAffinity'
  const required = 'requiredDuringSchedulingIgnoredDuringExecution'
  const preferred = 'preferredDuringSchedulingIgnoredDuringExecution'
  const nodeTerm = (expression: { key: string; operator: string; values?: string[] }): Partial<PodSpec> => ({
    affinity: { nodeAffinity: { [required]: { nodeSelectorTerms: [{ matchExpressions: [expression] }] } } },
  })
  const spread = (constraint: object): Partial<PodSpec> => ({
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: {}, ...constraint },
    ],
  })
  test.each<Row>([
    ['node affinity', nodeTerm({ key: 'disk', operator: 'In', values: ['ssd'] })],
    [
      'no terms',
      { affinity: { nodeAffinity: { [required]: { nodeSelectorTerms: [] } } } },
      `${affinity}.${required}.nodeSelectorTerms: Required value: must have at least one node selector term`,
    ],
    [
      'no values',
      nodeTerm({ key: 'disk', operator: 'In' }),
      `${affinity}.${required}.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
    ],
    [
      'values too many',
      nodeTerm({ key: 'disk', operator: 'Exists', values: ['x'] }),
      `${affinity}.${required}.nodeSelectorTerms[0].matchExpressions[0].values: Forbidden: may not be specified when \`operator\` is 'Exists' or 'DoesNotExist'`,
    ],
    [
      'two to compare',
      nodeTerm({ key: 'n', operator: 'Gt', values: ['1', '2'] }),
      `${affinity}.${required}.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified single value when \`operator\` is 'Lt' or 'Gt'`,
    ],
    [
      'operator',
      nodeTerm({ key: 'n', operator: '=' }),
      `${affinity}.${required}.nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value: "=": not a valid selector operator`,
    ],
    [
      'weight',
      { affinity: { nodeAffinity: { [preferred]: [{ weight: 101, preference: {} }] } } },
      `${affinity}.${preferred}[0].weight: Invalid value: 101: must be in the range 1-100`,
    ],
    [
      'field of a node',
      {
        affinity: {
          nodeAffinity: {
            [required]: {
              nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.uid', operator: 'In', values: ['x'] }] }],
            },
          },
        },
      },
      `${affinity}.${required}.nodeSelectorTerms[0].matchFields[0].key: Invalid value: "metadata.uid": not a valid field selector key`,
    ],
    [
      'pod affinity',
      {
        affinity: {
          podAntiAffinity: { [required]: [{ topologyKey: 'zone', labelSelector: { matchLabels: { a: 'b' } } }] },
        },
      },
    ],
    [
      'no topology',
      { affinity: { podAffinity: { [required]: [{ topologyKey: '', labelSelector: {} }] } } },
      `spec.affinity.podAffinity.${required}[0].topologyKey: Required value: can not be empty`,
      `spec.affinity.podAffinity.${required}[0].topologyKey: Invalid value: "": name part must be non-empty`,
      `spec.affinity.podAffinity.${required}[0].topologyKey: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
    [
      'toleration',
      {
        tolerations: [
          { key: 'a', value: 'b', effect: 'NoSchedule' },
          { operator: 'Exists' },
          { key: 'x', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 3 },
        ],
      },
    ],
    [
      'toleration of all keys',
      { tolerations: [{ value: 'b' }] },
      'spec.tolerations[0].operator: Invalid value: "": operator must be Exists when `key` is empty, which means "match all values and all keys"',
    ],
    [
      'seconds without NoExecute',
      { tolerations: [{ key: 'a', tolerationSeconds: 1 }] },
      'spec.tolerations[0].effect: Invalid value: "": effect must be \'NoExecute\' when `tolerationSeconds` is set',
    ],
    [
      'value of Exists',
      { tolerations: [{ key: 'a', operator: 'Exists', value: 'b' }] },
      'spec.tolerations[0].operator: Invalid value: "b": value must be empty when `operator` is \'Exists\'',
    ],
    [
      'effect',
      { tolerations: [{ key: 'a', effect: 'X' }] },
      'spec.tolerations[0].effect: Unsupported value: "X": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
    ],
    ['spread', spread({ minDomains: 2, nodeTaintsPolicy: 'Honor' })],
    [
      'skew',
      spread({ maxSkew: 0 }),
      'spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero',
    ],
    [
      'action',
      spread({ whenUnsatisfiable: 'X' }),
      'spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "X": supported values: "DoNotSchedule", "ScheduleAnyway"',
    ],
    [
      'domains',
      spread({ minDomains: 2, whenUnsatisfiable: 'ScheduleAnyway' }),
      'spec.topologySpreadConstraints[0].minDomains: Invalid value: 2: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway',
    ],
    [
      'keys without selector',
      spread({ matchLabelKeys: ['app'], labelSelector: undefined }),
      'spec.topologySpreadConstraints[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set',
    ],
  ])('%s', expectErrors)

  test('the same spread twice', () => {
    const one = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: {} }
    expect(texts(validatePod(createdPod({ topologySpreadConstraints: [one, one] })))).toEqual([
      'spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{zone, DoNotSchedule}"',
    ])
  })

  test('label keys become part of the selector when the pod is created', () => {
    const pod = createdPod(spread({ matchLabelKeys: ['app', 'absent'], labelSelector: { matchLabels: { a: 'b' } } }))
    expect(pod.spec?.topologySpreadConstraints?.[0]?.labelSelector).toEqual({
      matchLabels: { a: 'b' },
      matchExpressions: [{ key: 'app', operator: 'In', values: ['web'] }],
    })
  })
})

describe('resources of the pod', () => {
  test.each<Row>([
    ['enough', { resources: { requests: { cpu: '2' } }, ...withContainer({ resources: { requests: { cpu: '1' } } }) }],
    [
      'too little',
      { resources: { requests: { cpu: '1' } }, ...withContainer({ resources: { requests: { cpu: '2' } } }) },
      'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 2',
    ],
    [
      'others',
      { resources: { requests: { 'ephemeral-storage': '1' } } },
      'spec.resources.requests[ephemeral-storage]: Unsupported value: "ephemeral-storage": supported values: "cpu", "hugepages-", "memory"',
    ],
  ])('%s', expectErrors)
})

describe('annotations', () => {
  test.each<[what: string, annotations: Record<string, string>, ...errors: string[]]>([
    ['of the user', { 'example.com/a': 'b' }],
    ['deletion cost', { 'controller.kubernetes.io/pod-deletion-cost': '-5' }],
    [
      'no deletion cost',
      { 'controller.kubernetes.io/pod-deletion-cost': '+5' },
      'metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "+5": must be a 32bit integer',
    ],
    [
      'mirror pod without node',
      { 'kubernetes.io/config.mirror': 'x' },
      'metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set',
    ],
    [
      'app armor of no container',
      { 'container.apparmor.security.beta.kubernetes.io/x': 'runtime/default' },
      'metadata.annotations[container.apparmor.security.beta.kubernetes.io/x]: Invalid value: "x": container not found',
    ],
  ])('%s', (_what, annotations, ...errors) => {
    expect(texts(validatePod(createdPod({}, { annotations })))).toEqual(errors)
  })
})
