import { describe, expect, it } from 'vitest'
import type { Container, Node, Pod, Secret } from '../api/generated/core-v1.ts'
import { parseResolvConf, podDns } from './environment/dns.ts'
import { parseEnvFile } from './environment/env-file.ts'
import { expand, expandStrictly } from './environment/expansion.ts'
import { kernelHostname, podHostname } from './environment/hostname.ts'
import { evictionOrder, storageLimitEviction } from './eviction/eviction.ts'
import { imagesToRemove } from './images/garbage-collection.ts'
import { credentialsFor } from './images/pull-secrets.ts'
import { parseImageReference } from './images/reference.ts'
import { parseLogLine } from './logs/log-line.ts'
import { KeyedBackoff, secondsText } from './pod/backoff.ts'
import { admitPod } from './pod-worker/admission.ts'
import { cgroupParent, containerResources } from './pod-worker/resources.ts'
import { securityContext } from './pod-worker/security.ts'
import { statusPatch } from './status/status-patch.ts'

const pod = (spec: Partial<NonNullable<Pod['spec']>> = {}, name = 'web'): Pod => ({
  metadata: { name, namespace: 'default', uid: `uid-${name}` },
  spec: { containers: [{ name: 'main', image: 'a' }], ...spec },
})
const asking = (requests: Record<string, string>, limits?: Record<string, string>): Container => ({
  name: 'main',
  image: 'a',
  resources: { requests, ...(limits && { limits }) },
})

describe('expansion', () => {
  it.each([
    ['plain', 'plain'],
    ['$(A)', '1'],
    ['$$(A)', '$(A)'],
    ['$$$(A)', '$1'],
    ['$(NONE)', '$(NONE)'],
    ['a$(A)b$(B)', 'a1b2'],
    ['$(A', '$(A'],
    ['$', '$'],
  ])('%s is %s', (text, expected) => {
    expect(expand(text, (name) => ({ A: '1', B: '2' })[name])).toBe(expected)
  })

  it.each(['$(NONE)', 'a/$(EMPTY)'])('%s is no path', (text) => {
    expect(() => expandStrictly(text, (name) => ({ EMPTY: '' })[name])).toThrow(/^missing value for "/)
  })
})

describe('env files', () => {
  it.each<[string, Record<string, string>]>([
    ['', {}],
    ["# comment\n\n  A='1'\nB='two words' # more\n", { A: '1', B: 'two words' }],
    ["A='first\nsecond'\nB=''", { A: 'first\nsecond', B: '' }],
    ['A=\'$B \\n "x"\'', { A: '$B \\n "x"' }],
  ])('%j', (text, expected) => expect(Object.fromEntries(parseEnvFile(text))).toEqual(expected))

  it.each([
    ['A=1', "line 1: want NAME='value'"],
    ["\nA = '1'", "line 2: want NAME='value'"],
    ["A='1", 'line 1: the value of A has no closing quote'],
    ["A='1'x", 'line 1: unexpected text after the value of A'],
  ])('%j is refused', (text, message) => expect(() => parseEnvFile(text)).toThrow(message))
})

describe('back-off', () => {
  it('doubles, is capped, and is forgotten', () => {
    const backoff = new KeyedBackoff(10, 40)
    const waits: (number | undefined)[] = []
    let now = 1000
    for (let i = 0; i < 5; i++) {
      backoff.next('a', now, now)
      waits.push(backoff.waitSince('a', now, now)?.wait)
      now += 50
    }
    expect(waits).toEqual([10, 20, 40, 40, 40])
    now += 200
    expect(backoff.waitSince('a', now, now)).toBeUndefined()
    backoff.next('a', now, now)
    expect(backoff.waitSince('a', now, now)?.wait).toBe(10)
  })

  it.each([
    [10_000, '10s'],
    [80_000, '1m20s'],
    [300_000, '5m0s'],
  ])('%i ms is %s', (milliseconds, text) => expect(secondsText(milliseconds)).toBe(text))
})

describe('dns', () => {
  const settings = {
    clusterDns: ['10.96.0.10'],
    clusterDomain: 'cluster.local',
    host: parseResolvConf('nameserver 192.0.2.53\nsearch example.com .\noptions edns0\n'),
  }
  const cluster = ['default.svc.cluster.local', 'svc.cluster.local', 'cluster.local', 'example.com']
  const host = { servers: ['192.0.2.53'], searches: ['example.com'], options: ['edns0'] }
  it.each<[string, Partial<NonNullable<Pod['spec']>>, ReturnType<typeof podDns>]>([
    ['ClusterFirst', {}, { servers: ['10.96.0.10'], searches: cluster, options: ['ndots:5'] }],
    ['ClusterFirst on the host network', { hostNetwork: true }, host],
    [
      'ClusterFirstWithHostNet',
      { hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' },
      { servers: ['10.96.0.10'], searches: cluster, options: ['ndots:5'] },
    ],
    ['Default', { dnsPolicy: 'Default' }, host],
    [
      'None',
      {
        dnsPolicy: 'None',
        dnsConfig: { nameservers: ['1.1.1.1'], searches: ['x'], options: [{ name: 'ndots', value: '2' }] },
      },
      { servers: ['1.1.1.1'], searches: ['x'], options: ['ndots:2'] },
    ],
    [
      'with its own options',
      { dnsConfig: { options: [{ name: 'ndots', value: '1' }, { name: 'rotate' }] } },
      { servers: ['10.96.0.10'], searches: cluster, options: ['ndots:1', 'rotate'] },
    ],
  ])('%s', (_, spec, expected) => expect(podDns(pod(spec), settings)).toEqual(expected))
})

describe('hostname', () => {
  it.each<[Partial<NonNullable<Pod['spec']>>, string, string]>([
    [{}, 'web', 'web'],
    [{ hostname: 'a', subdomain: 'b' }, 'a', 'a'],
    [{ hostname: 'a', subdomain: 'b', setHostnameAsFQDN: true }, 'a', 'a.b.default.svc.cluster.local'],
  ])('%o', (spec, hostname, kernel) => {
    const found = podHostname(pod(spec), 'cluster.local')
    expect(found.hostname).toBe(hostname)
    expect(kernelHostname(pod(spec), found)).toBe(kernel)
  })
})

describe('image references', () => {
  it.each([
    ['busybox', 'docker.io', 'library/busybox', 'busybox:latest'],
    ['team/app:1', 'docker.io', 'team/app', 'team/app:1'],
    ['localhost:5000/app', 'localhost:5000', 'app', 'localhost:5000/app:latest'],
    ['reg.example.com/a/b:v1', 'reg.example.com', 'a/b', 'reg.example.com/a/b:v1'],
  ])('%s', (image, domain, path, withTag) => {
    expect(parseImageReference(image)).toEqual({ domain, path, withTag })
  })
  it.each(['', 'UPPER', 'a b', 'a:', ':1', 'a//b', 'a@sha256:12'])('%j is none', (image) => {
    expect(parseImageReference(image)).toBeUndefined()
  })
})

describe('pull secrets', () => {
  const secret = (auths: object): Secret => ({
    metadata: { name: 's' },
    type: 'kubernetes.io/dockerconfigjson',
    data: { '.dockerconfigjson': Buffer.from(JSON.stringify({ auths })).toString('base64') },
  })
  it.each([
    ['reg.example.com/a/b', { 'reg.example.com': { username: 'u' } }, ['u']],
    ['reg.example.com/a/b', { 'https://reg.example.com/v2/': { username: 'u' } }, ['u']],
    ['reg.example.com/a/b', { '*.example.com': { username: 'u' } }, ['u']],
    [
      'reg.example.com/a/b',
      { 'reg.example.com': { username: 'wide' }, 'reg.example.com/a': { username: 'narrow' } },
      ['narrow', 'wide'],
    ],
    ['reg.example.com/a/b', { 'reg.example.com/other': { username: 'u' } }, []],
    ['busybox', { 'https://index.docker.io/v1/': { username: 'u' } }, ['u']],
    ['busybox', { 'reg.example.com': { username: 'u' } }, []],
  ])('%s with %o', (image, auths, users) => {
    const found = credentialsFor(parseImageReference(image)!, [secret(auths)])
    expect(found.map(({ username }) => username)).toEqual(users)
  })
})

describe('admission', () => {
  const node: Node = {
    metadata: { name: 'n', labels: { zone: 'a' } },
    spec: { taints: [{ key: 'down', effect: 'NoExecute' }] },
    status: { allocatable: { cpu: '2', memory: '1Gi', pods: '2' } },
  }
  const tolerations = [{ key: 'down', operator: 'Exists' }]
  const port = { containers: [{ name: 'main', image: 'a', ports: [{ containerPort: 80, hostPort: 80 }] }] }
  const sysctl = (name: string) => ({ securityContext: { sysctls: [{ name, value: '1' }] } })
  it.each<[string, Partial<NonNullable<Pod['spec']>>, Pod[], string | undefined]>([
    ['fits', { tolerations }, [], undefined],
    ['too much memory', { tolerations, containers: [asking({ memory: '2Gi' })] }, [], 'OutOfmemory'],
    [
      'too much with another',
      { tolerations, containers: [asking({ cpu: '1500m' })] },
      [pod({ containers: [asking({ cpu: '1' })] }, 'b')],
      'OutOfcpu',
    ],
    ['too many pods', { tolerations }, [pod({}, 'b'), pod({}, 'c')], 'OutOfpods'],
    ['another zone', { tolerations, nodeSelector: { zone: 'b' } }, [], 'NodeAffinity'],
    ['a port that is taken', { tolerations, ...port }, [pod(port, 'b')], 'NodePorts'],
    ['a taint', {}, [], 'TaintToleration'],
    ['an unsafe sysctl', sysctl('kernel.msgmax'), [], 'SysctlForbidden'],
    ['a sysctl of the node', { ...sysctl('net.ipv4.tcp_rmem'), hostNetwork: true }, [], 'SysctlForbidden'],
    ['a safe sysctl', { tolerations, ...sysctl('net/ipv4/tcp_rmem') }, [], undefined],
  ])('%s', (_, spec, others, reason) => {
    expect(admitPod(pod(spec), node, others)?.reason).toBe(reason)
  })
})

describe('the seccomp profile of a container', () => {
  const localhost = { type: 'Localhost', localhostProfile: 'a.json' }
  const file = { type: 'Localhost', path: '/profiles/a.json' }
  type Context = NonNullable<Container['securityContext']>
  it.each<[string, Context, Context, boolean, object]>([
    ['none without a default', {}, {}, false, { type: 'Unconfined' }],
    ["the runtime's by default", {}, {}, true, { type: 'RuntimeDefault' }],
    ['none if it says so', { seccompProfile: { type: 'Unconfined' } }, {}, true, { type: 'Unconfined' }],
    ['none if its pod says so', {}, { seccompProfile: { type: 'Unconfined' } }, true, { type: 'Unconfined' }],
    ['none if it is privileged', { privileged: true }, {}, true, { type: 'Unconfined' }],
    [
      "the runtime's if it says so",
      { seccompProfile: { type: 'RuntimeDefault' } },
      {},
      false,
      { type: 'RuntimeDefault' },
    ],
    ['a file of the node', { seccompProfile: localhost }, {}, true, file],
    [
      'its own, not that of its pod',
      { seccompProfile: localhost },
      { seccompProfile: { type: 'Unconfined' } },
      true,
      file,
    ],
  ])('is %s', (_, own, shared, seccompDefault, expected) => {
    const container = { name: 'main', image: 'a', securityContext: own }
    const node = { profilesDir: '/profiles', seccompDefault, user: undefined }
    expect(securityContext(pod({ securityContext: shared }), container, node).seccomp).toEqual(expected)
  })
})

describe('cgroups', () => {
  const node: Node = { metadata: { name: 'n' }, status: { capacity: { memory: '4Gi' } } }
  it.each<[string, Container, string, object]>([
    [
      'BestEffort',
      { name: 'main', image: 'a' },
      '/kubepods/besteffort/poduid-web',
      { cpuShares: 2, oomScoreAdj: 1000 },
    ],
    [
      'Burstable',
      asking({ cpu: '500m', memory: '1Gi' }),
      '/kubepods/burstable/poduid-web',
      { cpuShares: 512, oomScoreAdj: 750 },
    ],
    [
      'Guaranteed',
      asking({ cpu: '1', memory: '1Gi' }, { cpu: '1', memory: '1Gi' }),
      '/kubepods/poduid-web',
      { cpuShares: 1024, cpuQuota: 100_000, cpuPeriod: 100_000, memoryLimitBytes: 2 ** 30, oomScoreAdj: -997 },
    ],
  ])('%s', (_, container, parent, resources) => {
    const one = pod({ containers: [container] })
    expect(cgroupParent(one)).toBe(parent)
    expect(containerResources(one, container, node)).toEqual(resources)
  })
})

describe('status patches', () => {
  const ready = { type: 'Ready', status: 'True' }
  it.each<[string, Pod['status'], Pod['status'], object | undefined]>([
    ['nothing', { phase: 'Running' }, { phase: 'Running' }, undefined],
    ['a field', { phase: 'Pending' }, { phase: 'Running' }, { phase: 'Running' }],
    ['a field that goes', { phase: 'Failed', reason: 'x' }, { phase: 'Failed' }, { reason: null }],
    [
      'one condition',
      { conditions: [ready, { type: 'Other', status: 'True' }] },
      {
        conditions: [
          { type: 'Ready', status: 'False', reason: 'r' },
          { type: 'Other', status: 'True' },
        ],
      },
      { conditions: [{ type: 'Ready', status: 'False', reason: 'r' }] },
    ],
    [
      'a reason that goes',
      { conditions: [{ ...ready, reason: 'r' }] },
      { conditions: [ready] },
      { conditions: [{ ...ready, reason: null }] },
    ],
    [
      'addresses',
      { podIPs: [{ ip: 'a' }] },
      { podIPs: [{ ip: 'b' }] },
      { podIPs: [{ ip: 'b' }, { $patch: 'replace' }] },
    ],
  ])('%s', (_, from, to, patch) => expect(statusPatch(from!, to!)).toEqual(patch))
})

describe('eviction', () => {
  const using = (name: string, memoryBytes: number, priority = 0) => ({
    pod: pod({ priority, containers: [asking({ memory: '100' })] }, name),
    memoryBytes,
    storageBytes: 0,
    processes: 0,
  })
  it('begins with those above their requests, then the less important', () => {
    const order = evictionOrder(
      [using('small', 50), using('big', 900, 5), using('bigger', 400), using('critical', 9000, 2_000_000_000)],
      'memory',
    )
    expect(order.map((one) => one.pod.metadata.name)).toEqual(['bigger', 'big', 'small'])
  })

  it.each<[string, Partial<NonNullable<Pod['spec']>>, number, number, string | undefined]>([
    ['within', { volumes: [{ name: 'v', emptyDir: { sizeLimit: '100' } }] }, 0, 100, undefined],
    [
      'a volume',
      { volumes: [{ name: 'v', emptyDir: { sizeLimit: '100' } }] },
      0,
      101,
      'Usage of EmptyDir volume "v" exceeds the limit "100". ',
    ],
    [
      'a container',
      { containers: [asking({}, { 'ephemeral-storage': '100' })] },
      101,
      0,
      'Container main exceeded its local ephemeral storage limit "100". ',
    ],
    [
      'the pod',
      { containers: [asking({}, { 'ephemeral-storage': '100' })] },
      60,
      60,
      'Pod ephemeral local storage usage exceeds the total limit of containers 100. ',
    ],
  ])('for its storage: %s', (_, spec, container, volume, message) => {
    const usage = { containers: new Map([['main', container]]), emptyDirs: new Map([['v', volume]]) }
    expect(storageLimitEviction(pod(spec), usage)?.message).toBe(message)
  })
})

describe('image garbage collection', () => {
  const image = (id: string, size = 10, pinned = false) => ({ id, repoTags: [], repoDigests: [], size, pinned })
  const limits = { highFraction: 0.85, lowFraction: 0.8, minimumAge: 100 }
  const images = [image('used'), image('old'), image('pinned', 10, true), image('new'), image('older')]
  const lastUsed = new Map([
    ['used', 1],
    ['old', 500],
    ['pinned', 1],
    ['new', 990],
    ['older', 300],
  ])
  it.each([
    ['enough free', 20, []],
    ['a little too full', 14, ['older']],
    ['far too full', 0, ['older', 'old']],
  ])('%s', (_, availableBytes, ids) => {
    const disk = { capacityBytes: 100, availableBytes }
    const chosen = imagesToRemove(images, new Set(['used']), lastUsed, disk, limits, 1000)
    expect(chosen.map(({ id }) => id)).toEqual(ids)
  })
})

describe('log lines', () => {
  it.each([
    ['2026-01-01T00:00:00Z stdout F hello world', 'hello world', false],
    ['2026-01-01T00:00:00Z stderr P half', 'half', true],
    ['2026-01-01T00:00:00Z stdout F ', '', false],
  ])('%s', (line, text, isPartial) => {
    const parsed = parseLogLine(Buffer.from(line))
    expect(parsed?.text.toString()).toBe(text)
    expect(parsed?.isPartial).toBe(isPartial)
  })
  it.each(['', 'nonsense', 'a b c'])('%j is none', (line) => expect(parseLogLine(Buffer.from(line))).toBeUndefined())
})
