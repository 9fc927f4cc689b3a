import type { Node, PersistentVolume, Pod } from '../../api/generated/core-v1.ts'
import type { StorageClass } from '../../api/generated/storage-v1.ts'
import { nodeKind } from '../../api/kinds/core/node/kind.ts'
import { podKind } from '../../api/kinds/core/pod/kind.ts'
import { ApiError } from '../../api/meta/api-error.ts'
import { ANNOTATION, LABEL, NAMESPACE } from '../../api/meta/well-known.ts'
import type { ControllerContext } from '../controller.ts'
import type { VolumeProvisioner } from './provisioner.ts'

export const LOCAL_PATH_PROVISIONER = 'sampan.dev/local-path'
const DEFAULT_DIRECTORY = '/var/lib/sampan/volumes'
/** The programs of the node itself: nothing to pull, also where there is no registry. */
const IMAGE = 'sampan.local/host'
const DEADLINE_SECONDS = 600

export interface LocalPathOptions {
  /** Where the directories are, on every node, unless a class says otherwise. */
  readonly volumesDirectory?: string
}

/** The class that a cluster begins with: a directory on the node of the first pod. */
export const localPathClass: StorageClass = {
  metadata: { name: 'local-path', annotations: { [ANNOTATION.isDefaultStorageClass]: 'true' } },
  provisioner: LOCAL_PATH_PROVISIONER,
  reclaimPolicy: 'Delete',
  allowVolumeExpansion: true,
  volumeBindingMode: 'WaitForFirstConsumer',
}

/** A directory per volume; the kubelet makes it when the first pod mounts it, and a pod on that node removes it. */
export function localPathProvisioner(context: ControllerContext & LocalPathOptions): VolumeProvisioner {
  const { client, informers, volumesDirectory = DEFAULT_DIRECTORY } = context
  const nodes = informers.informer(nodeKind)
  const pods = client.resource(podKind).namespace(NAMESPACE.system)

  return {
    name: LOCAL_PATH_PROVISIONER,
    async provision({ name, claim, storageClass, node }) {
      const directory = storageClass.parameters?.path ?? volumesDirectory
      const path = `${directory}/${name}_${claim.metadata.namespace}_${claim.metadata.name}`
      const matchExpressions = [{ key: LABEL.hostname, operator: 'In', values: [node ?? ''] }]
      return {
        hostPath: { path, type: 'DirectoryOrCreate' },
        ...(node !== undefined && { nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } } }),
      }
    },
    async delete(volume) {
      const place = placeOf(volume)
      const node = place && nodes.get(place.node)
      // A node that is gone took the directory along; one that has no containers never had it.
      if (!place || !node || isSimulated(node)) return true
      const name = `delete-${volume.metadata.name}`
      const pod = await pods.get(name).catch(ignoreNotFound)
      if (!pod) await pods.create(remover(name, place))
      if (pod?.status?.phase !== 'Succeeded' && pod?.status?.phase !== 'Failed') return false
      await pods.delete(name, { gracePeriodSeconds: 0 })
      if (pod.status.phase === 'Failed') throw new Error(`the directory of ${volume.metadata.name} was not removed`)
      return true
    },
  }
}

interface Place {
  readonly node: string
  readonly parent: string
  readonly directory: string
}

/** Where the directory is. Whoever edits a volume cannot have anything else removed: the name must be the one given. */
function placeOf({ metadata, spec }: PersistentVolume): Place | undefined {
  const terms = spec?.nodeAffinity?.required?.nodeSelectorTerms ?? []
  const node = terms[0]?.matchExpressions?.find(({ key }) => key === LABEL.hostname)?.values?.[0]
  const path = spec?.hostPath?.path ?? ''
  const slash = path.lastIndexOf('/')
  const directory = path.slice(slash + 1)
  if (!node || slash <= 0 || !directory.startsWith(`${metadata.name}_`)) return undefined
  return { node, parent: path.slice(0, slash), directory }
}

const isSimulated = ({ status }: Node) => status?.nodeInfo?.containerRuntimeVersion?.startsWith('simulated://') ?? true

function remover(name: string, { node, parent, directory }: Place): Pod {
  return {
    metadata: { name, labels: { 'app.kubernetes.io/managed-by': 'local-path-provisioner' } },
    spec: {
      nodeName: node,
      restartPolicy: 'Never',
      activeDeadlineSeconds: DEADLINE_SECONDS,
      automountServiceAccountToken: false,
      tolerations: [{ operator: 'Exists' }],
      containers: [
        {
          name: 'remove',
          image: IMAGE,
          imagePullPolicy: 'IfNotPresent',
          command: ['rm', '-rf', `/volumes/${directory}`],
          volumeMounts: [{ name: 'volumes', mountPath: '/volumes' }],
        },
      ],
      volumes: [{ name: 'volumes', hostPath: { path: parent, type: 'DirectoryOrCreate' } }],
    },
  }
}

function ignoreNotFound(error: unknown): undefined {
  if (error instanceof ApiError && error.code === 404) return
  throw error
}
