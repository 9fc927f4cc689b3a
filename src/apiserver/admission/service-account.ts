import type { Container, Pod, PodSpec, ServiceAccount, Volume } from '../../api/generated/core-v1.ts'
import { forbiddenAccess } from '../../api/meta/api-error.ts'
import { ANNOTATION } from '../../api/meta/well-known.ts'
import { type Random, randomSuffix } from '../../base/random.ts'
import { unmountableSecret } from './mountable-secrets.ts'
import type { AdmissionPlugin, AdmissionRequest } from './plugin.ts'

export interface ServiceAccounts {
  get(namespace: string, name: string): Promise<ServiceAccount | undefined> | ServiceAccount | undefined
  /** Waits a moment for one that is about to be made. */
  appears(namespace: string, name: string): Promise<ServiceAccount | undefined>
}

const PODS = { group: '', resource: 'pods' }
const DEFAULT = 'default'
const VOLUME_PREFIX = 'kube-api-access-'
const MOUNT_PATH = '/var/run/secrets/kubernetes.io/serviceaccount'
/** An hour and a little: a kubelet renews tokens in good time, and tells this one from those that users ask for. */
const TOKEN_SECONDS = 3607
const DEFAULT_MODE = 0o644

/** Every pod acts as a service account that exists, and finds the account's token, the cluster's CA and its namespace. */
export function serviceAccount(accounts: ServiceAccounts, random: Random): AdmissionPlugin {
  const find = async ({ namespace, name }: AdmissionRequest, { serviceAccountName: account = '' }: PodSpec) => {
    const found =
      (await accounts.get(namespace, account)) ??
      // A namespace's first pod may come before its default account.
      (account === DEFAULT ? await accounts.appears(namespace, account) : undefined)
    if (found) return found
    const missing = `serviceaccount ${JSON.stringify(account)} not found`
    throw forbiddenAccess(PODS, name, `error looking up service account ${namespace}/${account}: ${missing}`)
  }
  const takeAccount = async (request: AdmissionRequest, spec: PodSpec) => {
    if (!spec.serviceAccountName) spec.serviceAccountName = spec.serviceAccount = DEFAULT
    const account = await find(request, spec)
    if (spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true) mountToken(spec, random)
    if (!spec.imagePullSecrets?.length && account.imagePullSecrets?.length)
      spec.imagePullSecrets = account.imagePullSecrets.map(({ name = '' }) => ({ name }))
  }
  const mustMayMount = async (request: AdmissionRequest, pod: Pod) => {
    const problem = unmountableSecret(pod.spec!, await find(request, pod.spec!), request.subresource)
    if (problem) throw forbiddenAccess(PODS, request.name, problem)
  }
  return {
    name: 'ServiceAccount',
    resources: ['pods'],
    admit(request) {
      if (request.operation !== 'CREATE' || !isPod(request) || request.subresource !== '') return
      const { spec, metadata } = request.draft as Pod
      if (!spec || isMirror(metadata)) return
      return takeAccount(request, spec)
    },
    validate(request) {
      if (!isPod(request) || !isChecked(request)) return
      const pod = request.draft as Pod
      if (!isMirror(pod.metadata)) return mustMayMount(request, pod)
      const problem = pod.spec && request.subresource === '' && brokenByMirror(pod.spec)
      if (problem) throw forbiddenAccess(PODS, request.name, problem)
    },
  }
}

const isPod = ({ kind, draft }: AdmissionRequest) =>
  kind.plural === 'pods' && kind.group === '' && (draft as Pod | undefined)?.spec !== undefined
const isChecked = ({ operation, subresource }: AdmissionRequest) =>
  (operation === 'CREATE' && subresource === '') || (operation === 'UPDATE' && subresource === 'ephemeralcontainers')
const isMirror = ({ annotations }: Pod['metadata']) =>
  annotations !== undefined && Object.hasOwn(annotations, ANNOTATION.mirrorPod)

function mountToken(spec: PodSpec, random: Random): void {
  const present = spec.volumes?.find(({ name }) => name.startsWith(VOLUME_PREFIX))
  const name = present?.name ?? freeName(spec.volumes ?? [], random)
  let isMounted = false
  for (const container of [...(spec.initContainers ?? []), ...spec.containers])
    isMounted = mountIn(container, name) || isMounted
  if (isMounted && !present) spec.volumes = [...(spec.volumes ?? []), tokenVolume(name)]
}

/** A container that has something else in that place keeps it. */
function mountIn(container: Container, name: string): boolean {
  const mounts = container.volumeMounts ?? []
  if (mounts.some(({ mountPath }) => mountPath === MOUNT_PATH)) return false
  container.volumeMounts = [...mounts, { name, readOnly: true, mountPath: MOUNT_PATH }]
  return true
}

function freeName(volumes: readonly Volume[], random: Random): string {
  for (;;) {
    const name = VOLUME_PREFIX + randomSuffix(random)
    if (!volumes.some((volume) => volume.name === name)) return name
  }
}

function tokenVolume(name: string): Volume {
  const namespace = { path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }
  return {
    name,
    projected: {
      sources: [
        { serviceAccountToken: { expirationSeconds: TOKEN_SECONDS, path: 'token' } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        { downwardAPI: { items: [namespace] } },
      ],
      defaultMode: DEFAULT_MODE,
    },
  }
}

/** A mirror pod shows what a node runs of itself: it can have nothing from the API. */
function brokenByMirror(spec: PodSpec): string | undefined {
  if (spec.serviceAccountName) return 'a mirror pod may not reference service accounts'
  if (referencesSecrets(spec)) return 'a mirror pod may not reference secrets'
  const sources = spec.volumes?.flatMap(({ projected }) => projected?.sources ?? []) ?? []
  if (sources.some((source) => source.serviceAccountToken))
    return 'a mirror pod may not use ServiceAccountToken volume projections'
  return undefined
}

function referencesSecrets(spec: PodSpec): boolean {
  const containers = [...(spec.initContainers ?? []), ...spec.containers]
  return (
    (spec.imagePullSecrets?.length ?? 0) > 0 ||
    containers.some(
      ({ env, envFrom }) =>
        env?.some(({ valueFrom }) => valueFrom?.secretKeyRef) || envFrom?.some(({ secretRef }) => secretRef),
    ) ||
    (spec.volumes ?? []).some(volumeHasSecret)
  )
}

function volumeHasSecret(volume: Volume): boolean {
  if (volume.secret || volume.projected?.sources?.some(({ secret }) => secret)) return true
  const { azureFile, cephfs, cinder, csi, flexVolume, iscsi, rbd, scaleIO, storageos } = volume
  if (azureFile || csi?.nodePublishSecretRef) return true
  return [cephfs, cinder, flexVolume, iscsi, rbd, scaleIO, storageos].some((source) => source?.secretRef)
}
