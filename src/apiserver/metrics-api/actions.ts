import type { Kind } from '../../api/kind.ts'
import { objectNotFound } from '../../api/meta/api-error.ts'
import { checkFieldSelector, matchesFields, parseFieldSelector } from '../../api/meta/field-selector.ts'
import { matchesLabels } from '../../api/meta/label-selector.ts'
import { parseLabelSelector } from '../../api/meta/label-selector-parser.ts'
import { apiVersionOf, type KubernetesObject } from '../../api/meta/object.ts'
import type { MetricsSource } from '../../client/metrics-source.ts'
import type { Action } from '../registry/actions.ts'
import type { Answer } from '../registry/answer.ts'
import { parseListOptions } from '../registry/list-options.ts'
import type { ResourceRequest } from '../request/resource-request.ts'
import { CachedObject } from '../watch-cache/cached-object.ts'
import { unstored } from '../watch-cache/encoding.ts'

type Measured = Pick<KubernetesObject, 'metadata'>

/** metrics.k8s.io: what nodes and pods use, asked of the source at each request. Nothing of it is stored. */
export function metricsActions(source: MetricsSource): Readonly<Record<string, Action>> {
  return {
    'get nodes.metrics.k8s.io': async (_, request) => one(request, request.name, await source.node(request.name)),
    'list nodes.metrics.k8s.io': async ({ feed }, request) => some(request, await source.nodes(), feed.revision),
    'get pods.metrics.k8s.io': async (_, request) => {
      const { namespace, name } = request
      return one(request, `${namespace}/${name}`, await source.pod(namespace, name))
    },
    'list pods.metrics.k8s.io': async ({ feed }, request) =>
      some(request, await source.pods(request.namespace || undefined), feed.revision),
  }
}

function one({ kind }: ResourceRequest, name: string, metrics: Measured | undefined): Answer {
  // Named after the kind, as users of `kubectl top` know it.
  if (!metrics) throw objectNotFound({ group: kind.group, resource: kind.kind.toLowerCase() }, name)
  return { type: 'object', status: 200, kind, object: shown(kind, metrics) }
}

function some({ kind, query }: ResourceRequest, all: readonly Measured[], revision: number): Answer {
  const { labelSelector, fieldSelector } = parseListOptions(query, false)
  const labels = parseLabelSelector(labelSelector)
  const fields = parseFieldSelector(fieldSelector)
  checkFieldSelector(fields, new Set())
  const selected = all.filter(
    ({ metadata }) =>
      matchesLabels(labels, metadata.labels) &&
      matchesFields(fields, (field) => (field === 'metadata.name' ? metadata.name : metadata.namespace) ?? ''),
  )
  const objects = selected.map((metrics) => shown(kind, metrics)).sort((a, b) => (a.key < b.key ? -1 : 1))
  return {
    type: 'list',
    kind,
    list: { objects, revision, continueToken: '', remaining: undefined, identity: undefined },
  }
}

function shown(kind: Kind, metrics: Measured): CachedObject {
  const { namespace = '', name = '' } = metrics.metadata
  const value = unstored({ ...metrics, kind: kind.kind, apiVersion: apiVersionOf(kind) })
  return new CachedObject({ key: `${namespace}/${name}`, value, revision: 0 })
}
