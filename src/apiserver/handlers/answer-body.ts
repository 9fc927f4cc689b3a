import type { Kind } from '../../api/kind.ts'
import { notAcceptable } from '../../api/meta/api-error.ts'
import { apiVersionOf, type ListMeta } from '../../api/meta/object.ts'
import { ANNOTATION } from '../../api/meta/well-known.ts'
import type { Negotiated } from '../http/media-type.ts'
import { inVersion } from '../objects/representation.ts'
import type { Answer } from '../registry/answer.ts'
import { partialObjectMetadata, partialObjectMetadataList } from '../registry/partial-metadata.ts'
import { tableFor } from '../registry/table.ts'
import type { Query } from '../request/query.ts'
import type { CachedObject } from '../watch-cache/cached-object.ts'
import { type ListBodies, listMetaOf } from './list-body.ts'

export interface ViewContext {
  readonly negotiated: Negotiated
  readonly query: Query
  readonly now: number
  readonly lists: ListBodies
}

/** The JSON of an answer in the view that was asked for. */
export function answerBody(answer: Answer, context: ViewContext): Buffer | Buffer[] {
  switch (answer.type) {
    case 'plain':
      return Buffer.from(`${JSON.stringify(answer.body)}\n`)
    case 'object': {
      const { as } = context.negotiated
      if (as === 'object') return inVersion(answer.kind, answer.object).bytes
      return Buffer.from(JSON.stringify(objectView(answer.kind, answer.object, context)))
    }
    case 'list': {
      const { as } = context.negotiated
      if (as === 'object') return context.lists.body(answer.kind, answer.list)
      return Buffer.from(JSON.stringify(listView(answer.kind, answer.list.objects, listMetaOf(answer.list), context)))
    }
  }
}

export function objectView(kind: Kind, stored: CachedObject, context: ViewContext): object {
  const { as, metaVersion } = context.negotiated
  const { object } = inVersion(kind, stored)
  if (as === 'PartialObjectMetadata') return partialObjectMetadata(object, metaVersion)
  if (as === 'Table') {
    const listMeta = { resourceVersion: object.metadata.resourceVersion ?? '' }
    return tableFor(kind, [object], {
      now: context.now,
      version: metaVersion,
      listMeta,
      ...includeObject(context.query),
    })
  }
  throw notAcceptable([`application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=${metaVersion}`, 'application/json'])
}

export function listView(
  kind: Kind,
  stored: readonly CachedObject[],
  listMeta: ListMeta,
  context: ViewContext,
): object {
  const { as, metaVersion } = context.negotiated
  const objects = stored.map((one) => inVersion(kind, one).object)
  if (as === 'PartialObjectMetadataList') return partialObjectMetadataList(objects, listMeta, metaVersion)
  if (as === 'Table') {
    return tableFor(kind, objects, {
      now: context.now,
      version: metaVersion,
      listMeta,
      ...includeObject(context.query),
    })
  }
  throw notAcceptable([
    `application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=${metaVersion}`,
    'application/json',
  ])
}

function includeObject(query: Query): { includeObject?: 'None' | 'Metadata' | 'Object' } {
  const asked = query.get('includeObject')
  return asked === 'None' || asked === 'Metadata' || asked === 'Object' ? { includeObject: asked } : {}
}

/** One event's object in a view, for watches. Column definitions come only once. */
export function eventView(kind: Kind, stored: CachedObject, context: ViewContext, isFirst: boolean): object {
  const { as, metaVersion } = context.negotiated
  const { object } = inVersion(kind, stored)
  if (as !== 'Table') return partialObjectMetadata(object, metaVersion)
  const listMeta = { resourceVersion: object.metadata.resourceVersion ?? '' }
  return tableFor(kind, [object], {
    now: context.now,
    version: metaVersion,
    listMeta,
    noHeaders: !isFirst,
    ...includeObject(context.query),
  })
}

/** The object of a BOOKMARK: nothing but a kind and a resourceVersion. */
export function bookmarkView(kind: Kind, revision: number, initialEventsEnd: boolean, context: ViewContext): object {
  const { as, metaVersion } = context.negotiated
  const metadata = {
    resourceVersion: String(revision),
    ...(initialEventsEnd && { annotations: { [ANNOTATION.initialEventsEnd]: 'true' } }),
    creationTimestamp: null,
  }
  if (as === 'Table') {
    const row = {
      cells: [],
      object: { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${metaVersion}`, metadata },
    }
    return {
      kind: 'Table',
      apiVersion: `meta.k8s.io/${metaVersion}`,
      metadata: { resourceVersion: String(revision) },
      columnDefinitions: null,
      rows: [row],
    }
  }
  if (as !== 'object') return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${metaVersion}`, metadata }
  return { kind: kind.kind, apiVersion: apiVersionOf(kind), metadata }
}
