import {
  AppsV1Api,
  CoreV1Api,
  KubeConfig,
  KubernetesObjectApi,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
  type V1ConfigMap,
  Watch,
} from 'kubernetes-client-node-1'
import { describe, expect, test } from 'vitest'
import { useCluster } from '../tools/use-cluster.ts'

/** The official JavaScript client, as a program of somebody else would use it. */

const NAMESPACE = 'client-node'
const server = useCluster(NAMESPACE, { store: 'memory' })

function kubeConfig(): KubeConfig {
  const config = new KubeConfig()
  config.loadFromFile(server.cluster.kubeconfig)
  return config
}

describe('@kubernetes/client-node', () => {
  test('create, read, list, replace, patch, delete', async () => {
    const api = kubeConfig().makeApiClient(CoreV1Api)
    const made = await api.createNamespacedConfigMap({
      namespace: NAMESPACE,
      body: { metadata: { name: 'a' }, data: { x: '1' } },
    })
    expect(made.metadata?.uid).toBeTruthy()
    expect(made.metadata?.creationTimestamp).toBeInstanceOf(Date)
    const read = await api.readNamespacedConfigMap({ name: 'a', namespace: NAMESPACE })
    expect(read.data).toEqual({ x: '1' })
    const replaced = await api.replaceNamespacedConfigMap({
      name: 'a',
      namespace: NAMESPACE,
      body: { ...read, data: { x: '2' } },
    })
    expect(replaced.data).toEqual({ x: '2' })
    const patched = await api.patchNamespacedConfigMap(
      { name: 'a', namespace: NAMESPACE, body: { data: { y: '3' } } },
      setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
    )
    expect(patched.data).toEqual({ x: '2', y: '3' })
    const list = await api.listNamespacedConfigMap({ namespace: NAMESPACE })
    expect(list.items.map((item) => item.metadata?.name)).toContain('a')
    await api.deleteNamespacedConfigMap({ name: 'a', namespace: NAMESPACE })
    await expect(api.readNamespacedConfigMap({ name: 'a', namespace: NAMESPACE })).rejects.toMatchObject({ code: 404 })
  })

  test('strategic merge and server-side apply', async () => {
    const api = kubeConfig().makeApiClient(AppsV1Api)
    const labels = { app: 'x' }
    const body = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'd' },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
      },
    }
    const applied = await api.patchNamespacedDeployment(
      { name: 'd', namespace: NAMESPACE, body, fieldManager: 'tester', force: true },
      setHeaderOptions('Content-Type', PatchStrategy.ServerSideApply),
    )
    expect(applied.metadata?.managedFields?.[0]?.manager).toBe('tester')
    const containers = [{ name: 'd', image: 'j' }]
    const merged = await api.patchNamespacedDeployment(
      { name: 'd', namespace: NAMESPACE, body: { spec: { template: { spec: { containers } } } } },
      setHeaderOptions('Content-Type', PatchStrategy.StrategicMergePatch),
    )
    expect(merged.spec?.template.spec?.containers.map((container) => container.name)).toEqual(['d', 'c'])
  })

  test('the generic object client finds paths by discovery', async () => {
    const api = KubernetesObjectApi.makeApiClient(kubeConfig())
    const spec = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'generic', namespace: NAMESPACE } }
    await api.create(spec)
    expect((await api.read(spec)).metadata?.name).toBe('generic')
    await api.delete(spec)
  })

  test('watch', async () => {
    const config = kubeConfig()
    const api = config.makeApiClient(CoreV1Api)
    const events: string[] = []
    let wake = () => {}
    const path = `/api/v1/namespaces/${NAMESPACE}/secrets`
    const controller = await new Watch(config).watch(
      path,
      {},
      (phase: string, object: { metadata: { name: string } }) => {
        events.push(`${phase} ${object.metadata.name}`)
        wake()
      },
      () => {},
    )
    const grown = (length: number) =>
      new Promise<void>((resolve) => {
        wake = () => events.length >= length && resolve()
        wake()
      })
    await api.createNamespacedSecret({ namespace: NAMESPACE, body: { metadata: { name: 's' } } })
    await grown(1)
    await api.deleteNamespacedSecret({ name: 's', namespace: NAMESPACE })
    await grown(2)
    controller.abort()
    expect(events).toEqual(['ADDED s', 'DELETED s'])
  })

  test('informer', async () => {
    const config = kubeConfig()
    const api = config.makeApiClient(CoreV1Api)
    await api.createNamespacedConfigMap({ namespace: NAMESPACE, body: { metadata: { name: 'before' } } })
    const informer = makeInformer<V1ConfigMap>(config, `/api/v1/namespaces/${NAMESPACE}/configmaps`, () =>
      api.listNamespacedConfigMap({ namespace: NAMESPACE }),
    )
    const seen = (event: 'add' | 'delete', name: string) =>
      new Promise<void>((resolve) => {
        informer.on(event, (object) => object.metadata?.name === name && resolve())
      })
    const before = seen('add', 'before')
    const after = seen('add', 'after')
    const gone = seen('delete', 'before')
    await informer.start()
    await before
    await api.createNamespacedConfigMap({ namespace: NAMESPACE, body: { metadata: { name: 'after' } } })
    await after
    await api.deleteNamespacedConfigMap({ name: 'before', namespace: NAMESPACE })
    await gone
    expect(informer.list(NAMESPACE).map((object) => object.metadata?.name)).toContain('after')
    await informer.stop()
  })
})
