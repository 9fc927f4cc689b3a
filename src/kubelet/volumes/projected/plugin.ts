import type { Pod, VolumeProjection } from '../../../api/generated/core-v1.ts'
import { writePayload } from '../atomic-writer.ts'
import { downwardFiles } from '../downward-api/plugin.ts'
import { memoryFolder } from '../memory-folder.ts'
import { configMapData, DEFAULT_MODE, type PayloadFile, payloadOf, secretData } from '../payload.ts'
import { fsGroupOf, type VolumeContext, type VolumePlugin } from '../volume-plugin.ts'
import { serviceAccountToken } from './service-account-token.ts'
import { trustAnchors } from './trust-anchors.ts'

interface Collected {
  readonly files: Map<string, PayloadFile>
  refreshAt: number | undefined
}

const OWNER_ONLY = 0o600
/** Whom to trust changes seldom. */
const TRUST_REFRESH_MS = 60_000

/** Several sources in one folder; what comes later wins. */
export const projectedPlugin: VolumePlugin = {
  name: 'kubernetes.io~projected',
  supports: (volume) => volume.projected !== undefined,
  async mount({ context, pod, volume, directory }) {
    const { sources = [], defaultMode = DEFAULT_MODE } = volume.projected!
    const collected: Collected = { files: new Map(), refreshAt: undefined }
    for (const source of sources) await collect(collected, source, pod, defaultMode, context)
    await memoryFolder(context.mounter, directory)
    await writePayload(directory, collected.files, context.clock.now())
    const { refreshAt } = collected
    return { path: directory, readOnly: true, ownedByPod: true, ...(refreshAt !== undefined && { refreshAt }) }
  },
}

async function collect(into: Collected, source: VolumeProjection, pod: Pod, mode: number, context: VolumeContext) {
  const namespace = pod.metadata.namespace ?? ''
  const add = (files: Iterable<[string, PayloadFile]>) => {
    for (const [name, file] of files) into.files.set(name, file)
  }
  if (source.configMap) {
    const { name = '', items, optional } = source.configMap
    const found = await context.source.configMap(namespace, name)
    if (!found && !optional) throw new Error(`configmap "${name}" not found`)
    add(payloadOf(configMapData(name, found), items, mode, optional))
  }
  if (source.secret) {
    const { name = '', items, optional } = source.secret
    const found = await context.source.secret(namespace, name)
    if (!found && !optional) throw new Error(`secret "${name}" not found`)
    add(payloadOf(secretData(name, found), items, mode, optional))
  }
  if (source.downwardAPI) add(downwardFiles(pod, source.downwardAPI.items ?? [], mode, context))
  if (source.serviceAccountToken) {
    const { token, refreshAt } = await serviceAccountToken(context, pod, source.serviceAccountToken)
    add([[source.serviceAccountToken.path, tokenFile(pod, token, mode)]])
    refresh(into, refreshAt)
  }
  if (source.clusterTrustBundle) {
    const data = Buffer.from(await trustAnchors(context, source.clusterTrustBundle))
    add([[source.clusterTrustBundle.path, { data, mode: fsGroupOf(pod) === undefined ? mode : OWNER_ONLY }]])
    refresh(into, context.clock.now() + TRUST_REFRESH_MS)
  }
}

function refresh(collected: Collected, at: number): void {
  collected.refreshAt = Math.min(collected.refreshAt ?? Number.POSITIVE_INFINITY, at)
}

/** Only the pod's one user, or its group, may read the token; where they differ, everybody in the pod must. */
function tokenFile(pod: Pod, token: string, mode: number): PayloadFile {
  const data = Buffer.from(token)
  const uid = onlyUser(pod)
  if (uid !== undefined) return { data, mode: OWNER_ONLY, uid }
  return { data, mode: fsGroupOf(pod) === undefined ? mode : OWNER_ONLY }
}

function onlyUser({ spec }: Pod): number | undefined {
  const users = new Set(
    [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].map(
      ({ securityContext }) => securityContext?.runAsUser ?? spec?.securityContext?.runAsUser,
    ),
  )
  return users.size === 1 ? [...users][0] : undefined
}
