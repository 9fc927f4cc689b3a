import type { CustomResourceDefinition, CustomResourceDefinitionNames } from '../../api/generated/apiextensions-v1.ts'
import { getOrCreate } from '../../base/get-or-create.ts'

type Names = CustomResourceDefinitionNames

export interface NamesVerdict {
  readonly accepted: Names
  /** The first name that belongs to somebody else. */
  readonly conflict: { readonly reason: string; readonly message: string } | undefined
}

/** What others of the same group already use. */
export interface NamesInUse {
  readonly resources: Taken
  readonly kinds: Taken
}

interface Taken {
  has(name: string): boolean
}

/** What is known of the names of the definitions of one group. */
export class GroupNames {
  readonly #members = new Map<string, Names | undefined>()
  /** Definitions that did not get all the names they want. */
  readonly #waiting = new Set<string>()
  /** Who has a name: almost always one definition, several only while they are being told apart. */
  readonly #resources = new NameOwners()
  readonly #kinds = new NameOwners()

  set(key: string, accepted: Names | undefined, isWaiting: boolean): void {
    this.delete(key)
    this.#members.set(key, accepted)
    if (isWaiting) this.#waiting.add(key)
    for (const name of resourceNames(accepted)) this.#resources.add(name, key)
    for (const name of kindNames(accepted)) this.#kinds.add(name, key)
  }

  delete(key: string): boolean {
    const accepted = this.#members.get(key)
    this.#waiting.delete(key)
    for (const name of resourceNames(accepted)) this.#resources.delete(name, key)
    for (const name of kindNames(accepted)) this.#kinds.delete(name, key)
    return this.#members.delete(key)
  }

  get size(): number {
    return this.#members.size
  }

  waiting(): string[] {
    return [...this.#waiting]
  }

  /** The names that all but this one have. */
  usedByOthers(key: string): NamesInUse {
    return {
      resources: { has: (name) => this.#resources.hasOther(name, key) },
      kinds: { has: (name) => this.#kinds.hasOther(name, key) },
    }
  }
}

class NameOwners {
  readonly #owners = new Map<string, Set<string>>()

  add(name: string, key: string): void {
    getOrCreate(this.#owners, name, () => new Set<string>()).add(key)
  }

  delete(name: string, key: string): void {
    const owners = this.#owners.get(name)
    if (owners?.delete(key) && owners.size === 0) this.#owners.delete(name)
  }

  hasOther(name: string, key: string): boolean {
    const owners = this.#owners.get(name)
    return owners !== undefined && (owners.size > 1 || !owners.has(key))
  }
}

const given = (names: readonly (string | undefined)[]) =>
  names.filter((name) => name !== undefined && name !== '') as string[]
const resourceNames = (names: Names | undefined) =>
  given([names?.plural, names?.singular, ...(names?.shortNames ?? [])])
const kindNames = (names: Names | undefined) => given([names?.kind, names?.listKind])

/** Each name is accepted that is free; one that is taken leaves the one accepted before. */
export function judgeNames(definition: CustomResourceDefinition, used: NamesInUse): NamesVerdict {
  const wanted = definition.spec.names
  const accepted: Names = { ...(definition.status?.acceptedNames ?? { plural: '', kind: '' }) }
  let conflict: NamesVerdict['conflict']
  const judge = (field: 'plural' | 'singular' | 'kind' | 'listKind', taken: Taken, reason: string) => {
    const name = wanted[field] ?? ''
    if (taken.has(name)) conflict ??= { reason, message: inUse(name) }
    else if (name) accepted[field] = name
  }
  judge('plural', used.resources, 'PluralConflict')
  judge('singular', used.resources, 'SingularConflict')
  const taken = wanted.shortNames?.filter((name) => used.resources.has(name)) ?? []
  if (taken.length > 0) conflict ??= { reason: 'ShortNamesConflict', message: listInUse(taken) }
  else setOrDelete(accepted, 'shortNames', wanted.shortNames)
  judge('kind', used.kinds, 'KindConflict')
  judge('listKind', used.kinds, 'ListKindConflict')
  setOrDelete(accepted, 'categories', wanted.categories)
  return { accepted, conflict }
}

function setOrDelete(names: Names, field: 'shortNames' | 'categories', value: string[] | undefined): void {
  if (value === undefined) delete names[field]
  else names[field] = value
}

const inUse = (name: string) => `${JSON.stringify(name)} is already in use`
const listInUse = (names: readonly string[]) =>
  names.length === 1 ? inUse(names[0]!) : `[${names.map(inUse).join(', ')}]`
