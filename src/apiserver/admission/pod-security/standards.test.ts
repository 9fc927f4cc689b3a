import { describe, expect, it } from 'vitest'
import type { Container, PodSpec } from '../../../api/generated/core-v1.ts'
import type { LevelVersion } from './policy.ts'
import { detailsText, violations } from './standards.ts'

const container = (name: string, rest: Partial<Container> = {}): Container => ({ name, image: 'i', ...rest })
const one = (rest: Partial<Container>): PodSpec => ({ containers: [container('c', rest)] })
const safe: Partial<Container> = {
  securityContext: {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    runAsNonRoot: true,
    seccompProfile: { type: 'RuntimeDefault' },
  },
}
const safeSpec = (spec: Partial<PodSpec> = {}, rest: Partial<Container> = {}): PodSpec => ({
  containers: [
    container('c', { ...safe, ...rest, securityContext: { ...safe.securityContext, ...rest.securityContext } }),
  ],
  ...spec,
})
const at = (level: LevelVersion['level'], minor = Number.POSITIVE_INFINITY): LevelVersion => ({ level, minor })
const found = (level: LevelVersion, spec: PodSpec, annotations?: Record<string, string>) =>
  detailsText(violations(level, { metadata: annotations && { annotations }, spec }))

const RESTRICTED_OF_BARE = [
  'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false)',
  'unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"])',
  'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)',
  'seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
].join(', ')

describe('levels', () => {
  it.each<[why: string, level: LevelVersion, spec: PodSpec, expected: string]>([
    ['privileged allows everything', at('privileged'), one({ securityContext: { privileged: true } }), ''],
    ['a bare pod is fine for baseline', at('baseline'), one({}), ''],
    ['and not for restricted', at('restricted'), one({}), RESTRICTED_OF_BARE],
    ['a careful pod is fine for restricted', at('restricted'), safeSpec(), ''],
    ['what a later version asks, an earlier did not', at('restricted', 18), one(safe), ''],
    [
      'an old version asks for less',
      at('restricted', 7),
      one({}),
      'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)',
    ],
    ['a version that is not there yet is the latest', at('restricted', 99), one({}), RESTRICTED_OF_BARE],
  ])('%s', (_, level, spec, expected) => expect(found(level, spec)).toBe(expected))
})

describe('baseline', () => {
  it.each<[spec: PodSpec, expected: string]>([
    [
      { ...one({}), hostNetwork: true, hostPID: true, hostIPC: true },
      'host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)',
    ],
    [
      {
        containers: [
          container('a', { securityContext: { privileged: true } }),
          container('b', { securityContext: { privileged: true } }),
        ],
      },
      'privileged (containers "a", "b" must not set securityContext.privileged=true)',
    ],
    [
      {
        ...one({}),
        initContainers: [container('i', { securityContext: { capabilities: { add: ['SYS_ADMIN', 'CHOWN', 'BPF'] } } })],
      },
      'non-default capabilities (container "i" must not include "BPF", "SYS_ADMIN" in securityContext.capabilities.add)',
    ],
    [{ ...one({}), volumes: [{ name: 'v', hostPath: { path: '/' } }] }, 'hostPath volumes (volume "v")'],
    [
      one({
        ports: [
          { containerPort: 1, hostPort: 80 },
          { containerPort: 2, hostPort: 443 },
        ],
      }),
      'hostPort (container "c" uses hostPorts 443, 80)',
    ],
    [
      one({ livenessProbe: { httpGet: { port: 1, host: 'metadata' } } }),
      'probe or lifecycle host (container "c" uses probe or lifecycle host "metadata")',
    ],
    [
      {
        ...one({ securityContext: { appArmorProfile: { type: 'Unconfined' } } }),
        securityContext: { appArmorProfile: { type: 'Unconfined' } },
      },
      'forbidden AppArmor profile (pod and container "c" must not set AppArmor profile type to "Unconfined")',
    ],
    [
      one({ securityContext: { procMount: 'Unmasked' } }),
      'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
    ],
    [{ ...one({ securityContext: { procMount: 'Unmasked' } }), hostUsers: false }, ''],
    [
      {
        ...one({ securityContext: { seLinuxOptions: { type: 'spc_t', user: 'u' } } }),
        securityContext: { seLinuxOptions: { role: 'r' } },
      },
      'seLinuxOptions (pod and container "c" set forbidden securityContext.seLinuxOptions: type "spc_t"; user may not be set; role may not be set)',
    ],
    [one({ securityContext: { seLinuxOptions: { type: 'container_engine_t' } } }), ''],
    [
      one({ securityContext: { seccompProfile: { type: 'Unconfined' } } }),
      'seccompProfile (container "c" must not set securityContext.seccompProfile.type to "Unconfined")',
    ],
    [
      {
        ...one({}),
        securityContext: {
          sysctls: [
            { name: 'kernel.msgmax', value: '1' },
            { name: 'net.ipv4.tcp_rmem', value: '1' },
          ],
        },
      },
      'forbidden sysctls (kernel.msgmax)',
    ],
    [
      { ...one({}), securityContext: { windowsOptions: { hostProcess: true } } },
      'hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)',
    ],
  ])('%#', (spec, expected) => expect(found(at('baseline'), spec)).toBe(expected))

  it.each<[minor: number, spec: PodSpec, isBad: boolean]>([
    [30, one({ securityContext: { seLinuxOptions: { type: 'container_engine_t' } } }), true],
    [31, { ...one({}), securityContext: { sysctls: [{ name: 'net.ipv4.tcp_rmem', value: '1' }] } }, true],
    [33, one({ livenessProbe: { httpGet: { port: 1, host: 'h' } } }), false],
    [34, { ...one({ securityContext: { procMount: 'Unmasked' } }), hostUsers: false }, true],
    [18, one({ securityContext: { seccompProfile: { type: 'Unconfined' } } }), false],
  ])('as of v1.%i %#', (minor, spec, isBad) => expect(found(at('baseline', minor), spec) !== '').toBe(isBad))

  it('reads the annotations of old', () => {
    const appArmor = { 'container.apparmor.security.beta.kubernetes.io/c': 'unconfined' }
    expect(found(at('baseline'), one({}), appArmor)).toBe(
      'forbidden AppArmor profile (annotation must not set AppArmor profile type to "container.apparmor.security.beta.kubernetes.io/c="unconfined"")',
    )
    const seccomp = { 'seccomp.security.alpha.kubernetes.io/pod': 'unconfined' }
    expect(found(at('baseline', 18), one({}), seccomp)).toBe(
      'seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod="unconfined")',
    )
    expect(found(at('baseline', 19), one({}), seccomp)).toBe('')
  })
})

describe('the annotation that shows a pod a folder of its node', () => {
  const annotations = { 'sampan.dev/host-path': '/srv/app' }
  const withVolume = { volumes: [{ name: 'v', hostPath: { path: '/' } }] }
  it.each<[why: string, level: LevelVersion, spec: PodSpec, expected: string]>([
    ['privileged allows it', at('privileged'), one({}), ''],
    ['baseline refuses it', at('baseline'), one({}), 'hostPath volumes (annotation "sampan.dev/host-path")'],
    [
      'the first baseline refuses it',
      at('baseline', 0),
      one({}),
      'hostPath volumes (annotation "sampan.dev/host-path")',
    ],
    [
      'baseline names it beside volumes',
      at('baseline'),
      { ...one({}), ...withVolume },
      'hostPath volumes (volume "v" and annotation "sampan.dev/host-path")',
    ],
    [
      'restricted refuses it',
      at('restricted'),
      safeSpec(),
      'restricted volume types (annotation "sampan.dev/host-path" uses restricted volume type "hostPath")',
    ],
    [
      'restricted names it beside volumes',
      at('restricted'),
      safeSpec(withVolume),
      'restricted volume types (volume "v" and annotation "sampan.dev/host-path" use restricted volume type "hostPath")',
    ],
  ])('%s', (_, level, spec, expected) => expect(found(level, spec, annotations)).toBe(expected))
})

describe('restricted', () => {
  it.each<[spec: PodSpec, expected: string]>([
    [
      safeSpec({
        volumes: [
          { name: 'v', hostPath: { path: '/' } },
          { name: 'w', nfs: { path: '/', server: 's' } },
        ],
      }),
      'restricted volume types (volumes "v", "w" use restricted volume types "hostPath", "nfs")',
    ],
    [
      safeSpec({
        volumes: [
          { name: 'v', secret: {} },
          { name: 'w', projected: {} },
        ],
      }),
      '',
    ],
    [
      safeSpec({}, { securityContext: { capabilities: { drop: ['ALL'], add: ['CHOWN', 'NET_BIND_SERVICE'] } } }),
      'unrestricted capabilities (container "c" must not include "CHOWN" in securityContext.capabilities.add)',
    ],
    [
      safeSpec({ securityContext: { runAsNonRoot: false } }),
      'runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)',
    ],
    [
      safeSpec({ securityContext: { runAsUser: 0 } }, { securityContext: { runAsUser: 0 } }),
      'runAsUser=0 (pod and container "c" must not set runAsUser=0)',
    ],
    [safeSpec({ hostUsers: false }, { securityContext: { runAsUser: 0, runAsNonRoot: false } }), ''],
    [
      safeSpec({ hostUsers: false }, { securityContext: { procMount: 'Unmasked' } }),
      'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
    ],
    [{ ...one({ securityContext: { runAsNonRoot: true } }), os: { name: 'windows' } }, ''],
    [
      {
        ...safeSpec(),
        ephemeralContainers: [
          { ...container('debug'), ...safe, securityContext: { ...safe.securityContext, runAsUser: 0 } },
        ],
      },
      'runAsUser=0 (container "debug" must not set runAsUser=0)',
    ],
  ])('%#', (spec, expected) => expect(found(at('restricted'), spec)).toBe(expected))
})
