import { notAcceptable } from '../../api/meta/api-error.ts'

/** In which form an answer goes out. */
export interface Negotiated {
  readonly format: 'json' | 'yaml' | 'protobuf'
  /** The object as it is, or another view of it. */
  readonly as: 'object' | 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList'
  readonly metaVersion: 'v1' | 'v1beta1'
  readonly contentType: string
}

export const PLAIN_JSON: Negotiated = {
  format: 'json',
  as: 'object',
  metaVersion: 'v1',
  contentType: 'application/json',
}

export const PROTOBUF_TYPE = 'application/vnd.kubernetes.protobuf'
const SERVED = ['application/json', 'application/yaml']
const VIEWS = new Set(['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList'])
const known = new Map<string, Negotiated>()
const KNOWN_LIMIT = 500

/**
 * The first form in the Accept header that is served here. Views may be excluded where there is only one form, and
 * protobuf where the objects have none.
 */
export function negotiate(accept: string | undefined, hasViews = true, hasProtobuf = false): Negotiated {
  if (accept === undefined || accept === 'application/json' || accept === '*/*' || accept === '') return PLAIN_JSON
  const id = (hasViews ? 'v' : '-') + (hasProtobuf ? 'p' : '-') + accept
  let negotiated = known.get(id)
  if (!negotiated) {
    negotiated = parse(accept, hasViews, hasProtobuf)
    if (known.size < KNOWN_LIMIT) known.set(id, negotiated)
  }
  return negotiated
}

function parse(accept: string, hasViews: boolean, hasProtobuf: boolean): Negotiated {
  for (const range of splitAccept(accept)) {
    const negotiated = serve(range, hasViews, hasProtobuf)
    if (negotiated) return negotiated
  }
  throw notAcceptable(hasProtobuf ? [...SERVED, PROTOBUF_TYPE] : SERVED)
}

export interface MediaRange {
  readonly type: string
  readonly parameters: Readonly<Record<string, string>>
}

/** By quality, then in the order they stand. */
export function splitAccept(accept: string): MediaRange[] {
  const ranges = accept.split(',').map((text) => {
    const [type = '', ...rest] = text.split(';').map((part) => part.trim())
    const parameters = Object.fromEntries(rest.map((part) => part.split('=').map((side) => side.trim())))
    return { type: type.toLowerCase(), parameters: parameters as Record<string, string> }
  })
  const quality = (range: MediaRange) => Number(range.parameters.q ?? 1)
  return ranges.sort((a, b) => quality(b) - quality(a))
}

function serve(range: MediaRange, hasViews: boolean, hasProtobuf: boolean): Negotiated | undefined {
  const format = FORMATS.get(range.type)
  if (!format) return undefined
  const base = format === 'protobuf' ? PROTOBUF_TYPE : `application/${format}`
  const { as, v, g } = range.parameters
  if (as === undefined) {
    if (format === 'protobuf' && !hasProtobuf) return undefined
    return { ...PLAIN_JSON, format, contentType: base }
  }
  if (!hasViews || !VIEWS.has(as) || g !== 'meta.k8s.io' || (v !== 'v1' && v !== 'v1beta1')) return undefined
  // The cells of a table can be anything, which protobuf cannot say.
  if (format === 'protobuf' && as === 'Table') return undefined
  return { format, as: as as Negotiated['as'], metaVersion: v, contentType: `${base};as=${as};g=meta.k8s.io;v=${v}` }
}

const FORMATS: ReadonlyMap<string, Negotiated['format']> = new Map([
  ['application/json', 'json'],
  ['application/*', 'json'],
  ['*/*', 'json'],
  ['application/yaml', 'yaml'],
  [PROTOBUF_TYPE, 'protobuf'],
])

/** `application/json; charset=utf-8` -> `application/json` */
export function essence(contentType: string | undefined): string {
  if (contentType === undefined) return ''
  const semicolon = contentType.indexOf(';')
  return (semicolon < 0 ? contentType : contentType.slice(0, semicolon)).trim().toLowerCase()
}
