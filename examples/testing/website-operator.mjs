// An operator on the official client: every ConfigMap with the label example.com/website gets a Deployment of its own,
// with as many replicas as the ConfigMap says. It knows nothing of Sampan.
// (The package's name is @kubernetes/client-node; here its version 1 is installed under another one.)
import { AppsV1Api, CoreV1Api, makeInformer } from 'kubernetes-client-node-1'

const LABEL = 'example.com/website'

export async function startOperator(config, namespace = 'default') {
  const core = config.makeApiClient(CoreV1Api)
  const apps = config.makeApiClient(AppsV1Api)
  const list = () => core.listNamespacedConfigMap({ namespace, labelSelector: LABEL })
  const path = `/api/v1/namespaces/${namespace}/configmaps`
  const informer = makeInformer(config, path, list, LABEL)
  const reconcile = (website) =>
    ensureDeployment(apps, namespace, website).catch((error) => console.error(error.message))
  informer.on('add', reconcile)
  informer.on('update', reconcile)
  await informer.start()
  return { stop: () => informer.stop() }
}

async function ensureDeployment(apps, namespace, website) {
  const { name, uid } = website.metadata
  const labels = { website: name }
  const body = {
    metadata: { name, ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid, controller: true }] },
    spec: {
      replicas: Number(website.data?.replicas ?? 1),
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: 'web', image: website.data?.image ?? 'nginx' }] },
      },
    },
  }
  try {
    await apps.createNamespacedDeployment({ namespace, body })
  } catch (error) {
    if (error.code !== 409) throw error
    await apps.replaceNamespacedDeployment({ name, namespace, body })
  }
}
