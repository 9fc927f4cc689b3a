import type { DiscoveryForm } from './discovery.ts'

/**
 * The form that the first acceptable entry of an Accept header asks for on `/api` and `/apis`; undefined if none can
 * be served. Parameters that name another kind of answer make an entry unacceptable.
 */
export function negotiateDiscovery(accept: string | undefined): DiscoveryForm | undefined {
  if (accept === undefined || accept.trim() === '') return 'plain'
  const entries = accept.split(',').map(parseEntry)
  // A sort keeps entries of equal weight in their order.
  for (const entry of entries.sort((a, b) => b.quality - a.quality)) {
    const form = formOf(entry)
    if (form !== undefined) return form
  }
  return undefined
}

interface AcceptEntry {
  readonly type: string
  readonly parameters: ReadonlyMap<string, string>
  readonly quality: number
}

function parseEntry(text: string): AcceptEntry {
  const [type = '', ...rest] = text.split(';').map((part) => part.trim())
  const parameters = new Map(rest.map((part) => part.split('=', 2).map((side) => side.trim()) as [string, string]))
  return { type: type.toLowerCase(), parameters, quality: Number(parameters.get('q') ?? 1) }
}

function formOf({ type, parameters, quality }: AcceptEntry): DiscoveryForm | undefined {
  if (quality === 0 || !['application/json', 'application/*', '*/*'].includes(type)) return undefined
  const as = parameters.get('as')
  if (as === undefined) return 'plain'
  if (as !== 'APIGroupDiscoveryList' || parameters.get('g') !== 'apidiscovery.k8s.io') return undefined
  const version = parameters.get('v')
  return version === 'v2' || version === 'v2beta1' ? version : undefined
}
