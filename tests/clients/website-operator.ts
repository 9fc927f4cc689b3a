import * as k8s from 'kubernetes-client-node-1'
import type { AdmissionRequestBody, Answers } from '../tools/webhook-server.ts'
import { jsonPatch } from '../tools/webhook-server.ts'

/** An operator as people write it with the official client: a website becomes a ConfigMap, and its status says so. */

export const GROUP = 'operator.example.com'
export const PLURAL = 'websites'
const VERSION = 'v1'
const FINALIZER = `${GROUP}/cleanup`

export interface Website extends k8s.KubernetesObject {
  spec: { host: string; theme?: string }
  status?: { observedGeneration?: number; configMap?: string }
}

const text = { type: 'string' }
export const websiteDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${PLURAL}.${GROUP}` },
  spec: {
    group: GROUP,
    scope: 'Namespaced',
    names: { plural: PLURAL, kind: 'Website' },
    versions: [
      {
        name: VERSION,
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                required: ['host'],
                properties: { host: { ...text, minLength: 3 }, theme: text },
              },
              status: { type: 'object', properties: { observedGeneration: { type: 'integer' }, configMap: text } },
            },
          },
        },
      },
    ],
  },
}

const specOf = (object: AdmissionRequestBody['object']) => (object?.spec ?? {}) as Partial<Website['spec']>

/** Gives every website a theme, and lets none move to another host. */
export const websiteWebhooks: Answers = {
  mutate: ({ object }) =>
    specOf(object).theme ? {} : jsonPatch({ op: 'add', path: '/spec/theme', value: 'by the webhook' }),
  validate: ({ object, oldObject }) =>
    oldObject && object && specOf(object).host !== specOf(oldObject).host
      ? { allowed: false, status: { code: 403, message: 'a website does not move' } }
      : {},
}

export function webhookConfiguration(kind: string, url: string, caBundle: string) {
  const rule = { apiGroups: [GROUP], apiVersions: [VERSION], operations: ['CREATE', 'UPDATE'], resources: [PLURAL] }
  const webhook = {
    name: `${PLURAL}.${GROUP}`,
    clientConfig: { url, caBundle },
    rules: [rule],
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
  }
  return { apiVersion: 'admissionregistration.k8s.io/v1', kind, metadata: { name: PLURAL }, webhooks: [webhook] }
}

/** Runs until it is stopped; works on one website at a time, in the order they were heard of. */
export async function startWebsiteOperator(config: k8s.KubeConfig, namespace: string) {
  const custom = config.makeApiClient(k8s.CustomObjectsApi)
  const core = config.makeApiClient(k8s.CoreV1Api)
  const place = { group: GROUP, version: VERSION, namespace, plural: PLURAL }
  const list = async () => (await custom.listNamespacedCustomObject(place)) as k8s.KubernetesListObject<Website>
  const url = `/apis/${GROUP}/${VERSION}/namespaces/${namespace}/${PLURAL}`
  const informer = k8s.makeInformer<Website>(config, url, list)
  const problems: unknown[] = []
  let work = Promise.resolve()
  const enqueue = ({ metadata }: Website) => {
    work = work.then(() => reconcile(metadata!.name!)).catch((error) => void problems.push(error))
  }

  async function reconcile(name: string): Promise<void> {
    const website = informer.get(name, namespace)
    if (!website) return
    const { metadata, spec, status } = website
    const configMap = `website-${name}`
    if (metadata!.deletionTimestamp) {
      if (!metadata!.finalizers?.includes(FINALIZER)) return
      await core.deleteNamespacedConfigMap({ name: configMap, namespace })
      await replace(name, (draft) => ({ ...draft, metadata: { ...draft.metadata, finalizers: [] } }))
      return
    }
    if (!metadata!.finalizers?.includes(FINALIZER)) {
      await replace(name, (draft) => ({ ...draft, metadata: { ...draft.metadata, finalizers: [FINALIZER] } }))
      return
    }
    if (status?.observedGeneration === metadata!.generation) return
    const data = { host: spec.host, theme: spec.theme ?? '' }
    const body = { metadata: { name: configMap }, data }
    await core
      .createNamespacedConfigMap({ namespace, body })
      .catch(() => core.replaceNamespacedConfigMap({ name: configMap, namespace, body }))
    const seen = metadata!.generation!
    await replace(name, (draft) => ({ ...draft, status: { observedGeneration: seen, configMap } }), true)
  }

  async function replace(name: string, change: (draft: Website) => Website, isStatus = false): Promise<void> {
    const current = (await custom.getNamespacedCustomObject({ ...place, name })) as Website
    const request = { ...place, name, body: change(current) }
    if (isStatus) await custom.replaceNamespacedCustomObjectStatus(request)
    else await custom.replaceNamespacedCustomObject(request)
  }

  for (const event of ['add', 'update', 'delete'] as const) informer.on(event, enqueue)
  await informer.start()
  return {
    problems,
    async [Symbol.asyncDispose]() {
      await informer.stop()
      await work
    },
  }
}
