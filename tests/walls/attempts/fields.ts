/** Fields and annotations of pods: what the API server refuses, and what gives nothing. */
import type { PodSpec } from '../../../src/api/generated/core-v1.ts'
import type { Attempt, RefusedAttempt, ScriptAttempt } from '../attempt.ts'
import { BASE_IMAGE } from '../images.ts'

const container = (more: object = {}) => ({ name: 'main', image: BASE_IMAGE, command: ['true'], ...more })
const pod = (spec: object, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'refused', ...metadata },
  spec: { containers: [container()], ...spec },
})

const ON = { on: ['builtin'] } as const

/** Refused everywhere: they are not valid. */
const INVALID: Readonly<Record<string, { spec: object; metadata?: object; refusal: RegExp; idea: string }>> = {
  'Bidirectional mounts without privilege': {
    idea: 'mounts that reach the host',
    spec: {
      containers: [container({ volumeMounts: [{ name: 'v', mountPath: '/v', mountPropagation: 'Bidirectional' }] })],
      volumes: [{ name: 'v', emptyDir: {} }],
    },
    refusal: /Bidirectional mount propagation is available only to privileged containers/,
  },
  'a subPath that goes up': {
    idea: 'CVE-2017-1002101',
    spec: {
      containers: [container({ volumeMounts: [{ name: 'v', mountPath: '/v', subPath: 'a/../../b' }] })],
      volumes: [{ name: 'v', emptyDir: {} }],
    },
    refusal: /must not contain '\.\.'/,
  },
  'a volume whose name is a path': {
    idea: 'CVE-2023-3676: names that become paths',
    spec: { volumes: [{ name: '../../../etc', emptyDir: {} }] },
    refusal: /Invalid value/,
  },
  'a container whose name is a path': {
    idea: 'CVE-2023-3676: names that become paths',
    spec: { containers: [container({ name: '../x' })] },
    refusal: /Invalid value/,
  },
  'a pod whose name is a path': {
    idea: 'CVE-2023-3676: names that become paths',
    spec: {},
    metadata: { name: '../x' },
    refusal: /invalid/i,
  },
  'files of a volume that go up': {
    idea: 'CVE-2017-1002102',
    spec: {
      volumes: [{ name: 'v', configMap: { name: 'walls', items: [{ key: 'file', path: '../../x' }] } }],
    },
    refusal: /must not contain '\.\.'|must not start with '\.\.'/,
  },
  'a token at a path that goes up': {
    idea: 'CVE-2017-1002102',
    spec: {
      volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: '../../x' } }] } }],
    },
    refusal: /must not contain '\.\.'|must not start with '\.\.'/,
  },
  'fields of the pod at an absolute path': {
    idea: 'CVE-2017-1002102',
    spec: {
      volumes: [{ name: 'v', downwardAPI: { items: [{ path: '/etc/x', fieldRef: { fieldPath: 'metadata.name' } }] } }],
    },
    refusal: /must be a relative path/,
  },
  'a seccomp profile that is a path upward': {
    idea: 'a file of the host as a profile',
    spec: { securityContext: { seccompProfile: { type: 'Localhost', localhostProfile: '../../../../etc/shadow' } } },
    refusal: /must not contain '\.\.'/,
  },
  'an unmasked /proc with the users of the host': {
    idea: 'procMount',
    spec: { containers: [container({ securityContext: { procMount: 'Unmasked' } })] },
    refusal: /procMount|`hostUsers` must be false/,
  },
  'escalation that is denied to a privileged container': {
    idea: 'two answers to one question',
    spec: { containers: [container({ securityContext: { privileged: true, allowPrivilegeEscalation: false } })] },
    refusal: /cannot set `allowPrivilegeEscalation` to false and `privileged` to true/,
  },
  'a sysctl whose name holds another': {
    idea: 'CVE-2022-0811',
    spec: { securityContext: { sysctls: [{ name: 'kernel.shm_rmid_forced=1+kernel.core_pattern', value: '|/x' }] } },
    refusal: /Invalid value/,
  },
  'a host alias with a line break': {
    idea: 'lines added to /etc/hosts',
    spec: { hostAliases: [{ ip: '127.0.0.1', hostnames: ['a\n10.0.0.1 kubernetes'] }] },
    refusal: /Invalid value/,
  },
  'an environment variable with a null byte in its name': {
    idea: 'CVE-2021-41190: texts that end early',
    spec: { containers: [container({ env: [{ name: 'A\0B', value: 'x' }] })] },
    refusal: /Invalid value/,
  },
}

const invalid: RefusedAttempt[] = Object.entries(INVALID).map(([what, { spec, metadata, refusal, idea }]) => ({
  ...ON,
  name: `a pod with ${what} is refused`,
  idea,
  object: () => pod(spec, metadata),
  refusal,
}))

/** Refused where Pod Security asks for it; the whole matrix is another suite. */
const FORBIDDEN: Readonly<Record<string, Partial<PodSpec>>> = {
  'a node name of its own': { nodeName: 'node-1', containers: [container({ securityContext: { privileged: true } })] },
  'an unsafe sysctl': { securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '65536' }] } },
  'another SELinux type': { securityContext: { seLinuxOptions: { type: 'spc_t' } } },
  'no AppArmor': { securityContext: { appArmorProfile: { type: 'Unconfined' } } },
  'no seccomp filter': { securityContext: { seccompProfile: { type: 'Unconfined' } } },
  'SYS_PTRACE and shared processes': {
    shareProcessNamespace: true,
    containers: [container({ securityContext: { capabilities: { add: ['SYS_PTRACE'] } } })],
  },
}

const forbidden: RefusedAttempt[] = Object.entries(FORBIDDEN).map(([what, spec]) => ({
  ...ON,
  name: `a pod with ${what} is refused under the baseline`,
  idea: 'Pod Security Standards',
  object: () => pod(spec, { namespace: 'walls-baseline' }),
  refusal: /violates PodSecurity "baseline/,
}))

/** What the image of the host's own programs must not show. */
const HIDDEN = [
  '/etc/shadow',
  '/etc/ssl/private',
  '/etc/ssh',
  '/root/.*',
  '/home/*',
  '/var/lib/*',
  '/var/log/*',
  '/boot/*',
]

const hostImage: ScriptAttempt[] = [
  {
    name: 'the host image shows nothing of the host but its programs',
    idea: 'sampan.local/host',
    cell: 'host-image',
    script: `for f in ${HIDDEN.join(' ')}; do case $f in */.|*/..) continue;; esac; [ -e "$f" ] && echo ESCAPED $f is there; done; echo held`,
  },
  {
    name: 'the host image does not show the keys of the cluster',
    idea: 'sampan.local/host',
    cell: 'host-image',
    script:
      'cat $SECRET_FILE $DATA/admin.kubeconfig $DATA/pki/* 2>/dev/null; find / -xdev -name admin.kubeconfig 2>/dev/null | sed "s/^/ESCAPED /"; echo held',
  },
  {
    name: "the host's programs cannot be changed in the host image",
    idea: 'sampan.local/host',
    cell: 'host-image',
    script:
      'for d in /usr /usr/bin /usr/lib /etc/ssl/certs /etc/alternatives $(dirname $(command -v node)); do (echo x > $d/walls-canary) 2>/dev/null && rm -f $d/walls-canary && echo ESCAPED $d can be written; done; mount -o remount,rw /usr 2>/dev/null && echo ESCAPED; echo held',
  },
]

export const fields: readonly Attempt[] = [...invalid, ...forbidden, ...hostImage]
