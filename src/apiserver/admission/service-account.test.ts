import { describe, expect, it } from 'vitest'
import type { Pod, PodSpec, ServiceAccount } from '../../api/generated/core-v1.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { seededRandom } from '../../base/random.ts'
import { admitted } from './admission.fixture.ts'
import type { AdmissionRequest } from './plugin.ts'
import { serviceAccount } from './service-account.ts'

const MOUNT_PATH = '/var/run/secrets/kubernetes.io/serviceaccount'
const account = (name: string, rest: Partial<ServiceAccount> = {}): ServiceAccount => ({
  ...rest,
  metadata: { name, namespace: 'n', ...rest.metadata },
})
const container = { name: 'c', image: 'i' }
const podOf = (spec: Partial<PodSpec> = {}, annotations?: Record<string, string>): Pod => ({
  metadata: { name: 'p', namespace: 'n', ...(annotations && { annotations }) },
  spec: { containers: [container], ...spec },
})

function admit(accounts: readonly ServiceAccount[], pod: Pod, change: Partial<AdmissionRequest> = {}) {
  const get = (namespace: string, name: string) =>
    accounts.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name)
  const plugin = serviceAccount({ get, appears: async (namespace, name) => get(namespace, name) }, seededRandom(1))
  return admitted(plugin, podKind, pod, change)
}
async function specOf(accounts: readonly ServiceAccount[], pod: Pod): Promise<PodSpec> {
  const result = await admit(accounts, pod)
  if (typeof result === 'string') throw new Error(result)
  return result.spec!
}

describe('ServiceAccount', () => {
  it('gives a pod the default account, and mounts its token in all containers', async () => {
    const spec = await specOf([account('default')], podOf({ initContainers: [{ ...container, name: 'i' }] }))
    const volume = spec.volumes![0]!
    expect(volume.name).toMatch(/^kube-api-access-[a-z0-9]{5}$/)
    const mounts = [{ name: volume.name, readOnly: true, mountPath: MOUNT_PATH }]
    expect(spec).toEqual({
      serviceAccountName: 'default',
      serviceAccount: 'default',
      containers: [{ ...container, volumeMounts: mounts }],
      initContainers: [{ ...container, name: 'i', volumeMounts: mounts }],
      volumes: [
        {
          name: volume.name,
          projected: {
            defaultMode: 420,
            sources: [
              { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
              { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
              {
                downwardAPI: {
                  items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
                },
              },
            ],
          },
        },
      ],
    })
  })

  const off = { automountServiceAccountToken: false }
  const on = { automountServiceAccountToken: true }
  it.each<[why: string, rest: Partial<ServiceAccount>, spec: Partial<PodSpec>, isMounted: boolean]>([
    ['nobody says', {}, {}, true],
    ['the account says no', off, {}, false],
    ['the pod says no', {}, off, false],
    ['the pod wins', off, on, true],
    ['the pod wins again', on, off, false],
  ])('mounts: %s', async (_, rest, spec, isMounted) => {
    const { volumes, containers } = await specOf([account('default', rest)], podOf(spec))
    expect(volumes?.length ?? 0).toBe(isMounted ? 1 : 0)
    expect(containers[0]!.volumeMounts?.length ?? 0).toBe(isMounted ? 1 : 0)
  })

  it('leaves what is mounted in that place, and uses a volume that is there', async () => {
    const volumeMounts = [{ name: 'mine', mountPath: MOUNT_PATH }]
    const taken = await specOf([account('default')], podOf({ containers: [{ ...container, volumeMounts }] }))
    expect([taken.volumes, taken.containers[0]!.volumeMounts]).toEqual([undefined, volumeMounts])
    const volumes = [{ name: 'kube-api-access-abcde', emptyDir: {} }]
    const present = await specOf([account('default')], podOf({ volumes }))
    expect(present.volumes).toEqual(volumes)
    expect(present.containers[0]!.volumeMounts).toEqual([
      { name: 'kube-api-access-abcde', readOnly: true, mountPath: MOUNT_PATH },
    ])
  })

  const pulling = { imagePullSecrets: [{ name: 'registry' }] }
  it.each([
    [{}, [{ name: 'registry' }]],
    [{ imagePullSecrets: [{ name: 'own' }] }, [{ name: 'own' }]],
  ])('secrets for pulling images %j', async (spec, expected) => {
    expect((await specOf([account('default', pulling)], podOf(spec))).imagePullSecrets).toEqual(expected)
  })

  const mirror = { 'kubernetes.io/config.mirror': 'x' }
  const strict = { metadata: { annotations: { 'kubernetes.io/enforce-mountable-secrets': 'true' } } }
  const secretEnv = { name: 'E', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }
  const why = 'is not allowed because service account default does not reference that secret'
  it.each<[accounts: ServiceAccount[], pod: Pod, refusal: string]>([
    [[], podOf(), 'error looking up service account n/default: serviceaccount "default" not found'],
    [
      [account('default')],
      podOf({ serviceAccountName: 'other' }),
      'error looking up service account n/other: serviceaccount "other" not found',
    ],
    [[], podOf({ serviceAccountName: 'a' }, mirror), 'a mirror pod may not reference service accounts'],
    [[], podOf({ volumes: [{ name: 'v', secret: {} }] }, mirror), 'a mirror pod may not reference secrets'],
    [[], podOf({ containers: [{ ...container, env: [secretEnv] }] }, mirror), 'a mirror pod may not reference secrets'],
    [
      [],
      podOf({ volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }] }, mirror),
      'a mirror pod may not use ServiceAccountToken volume projections',
    ],
    [
      [account('default', strict)],
      podOf({ volumes: [{ name: 'v', secret: { secretName: 's' } }] }),
      `volume with secret.secretName="s" ${why}`,
    ],
    [
      [account('default', strict)],
      podOf({ containers: [{ ...container, env: [secretEnv] }] }),
      `container c with envVar E referencing secret.secretName="s" ${why}`,
    ],
    [
      [account('default', strict)],
      podOf({ initContainers: [{ ...container, envFrom: [{ secretRef: { name: 's' } }] }] }),
      `init container c with envFrom referencing secret.secretName="s" ${why}`,
    ],
    [
      [account('default', strict)],
      podOf({ imagePullSecrets: [{ name: 's' }] }),
      'imagePullSecrets[0].name="s" is not allowed because service account default does not reference that imagePullSecret',
    ],
  ])('refuses %#', async (accounts, pod, refusal) => {
    expect(await admit(accounts, pod)).toBe(`pods "p" is forbidden: ${refusal}`)
  })

  it.each<[why: string, pod: Pod, change: Partial<AdmissionRequest>]>([
    ['a mirror pod', podOf({}, mirror), {}],
    ['an update', podOf(), { operation: 'UPDATE', old: podOf() }],
    ['a binding', podOf(), { subresource: 'binding' }],
  ])('leaves alone: %s', async (_, pod, change) => {
    expect(await admit([], pod, change)).toEqual(pod)
  })

  it('lets an account that lists its secrets use them', async () => {
    const listing = account('default', { ...strict, secrets: [{ name: 's' }] })
    const spec = await specOf([listing], podOf({ volumes: [{ name: 'v', secret: { secretName: 's' } }] }))
    expect(spec.volumes).toHaveLength(2)
  })
})
