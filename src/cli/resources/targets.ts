import { UserError } from '../../cluster/user-error.ts'
import { type DiscoveredResource, findResources } from './discovery.ts'

/** Some or all objects of one resource. */
export interface Target {
  readonly resource: DiscoveredResource
  /** All when empty. */
  readonly names: readonly string[]
}

/** Reads `pods`, `pods,services`, `pod web db`, `pod/web service/web`. */
export function parseTargets(known: readonly DiscoveredResource[], words: readonly string[]): Target[] {
  const [first, ...names] = words
  if (first === undefined)
    throw new UserError('say what: sampan get pods', ['Or several: sampan get pods,services'], { exitCode: 2 })
  if (words.some((word) => word.includes('/'))) return words.map((word) => namedTarget(known, word))
  return first
    .split(',')
    .filter((word) => word !== '')
    .flatMap((word) => findResources(known, word))
    .map((resource) => ({ resource, names }))
}

function namedTarget(known: readonly DiscoveredResource[], word: string): Target {
  const [type, name, ...rest] = word.split('/')
  if (!type || !name || rest.length > 0) {
    throw new UserError(
      `${JSON.stringify(word)} should be type/name`,
      ['All arguments need that form if one has it.'],
      { exitCode: 2 },
    )
  }
  return { resource: findResources(known, type)[0]!, names: [name] }
}

/** `deployment.apps/web`, as kubectl names things. */
export const qualifiedName = ({ group, singular }: DiscoveredResource, name: string) =>
  `${singular}${group === '' ? '' : `.${group}`}/${name}`
