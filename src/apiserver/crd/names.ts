import type { CustomResourceDefinition, CustomResourceDefinitionNames } from '../../api/generated/apiextensions-v1.ts'

type Names = CustomResourceDefinitionNames

export interface NamesVerdict {
  readonly accepted: Names
  /** The first name that belongs to somebody else. */
  readonly conflict: { readonly reason: string; readonly message: string } | undefined
}

/** What others of the same group already use. */
export interface NamesInUse {
  readonly resources: ReadonlySet<string>
  readonly kinds: ReadonlySet<string>
}

/** What is known of the names of the definitions of one group. */
export class GroupNames {
  readonly #members = new Map<string, { accepted: Names | undefined; isWaiting: boolean }>()

  set(key: string, accepted: Names | undefined, isWaiting: boolean): void {
    this.#members.set(key, { accepted, isWaiting })
  }

  delete(key: string): boolean {
    return this.#members.delete(key)
  }

  get size(): number {
    return this.#members.size
  }

  /** Definitions that did not get all the names they want. */
  waiting(): string[] {
    return [...this.#members].filter(([, { isWaiting }]) => isWaiting).map(([key]) => key)
  }

  /** The names that all but this one have. */
  usedByOthers(key: string): NamesInUse {
    const resources = new Set<string>()
    const kinds = new Set<string>()
    for (const [other, { accepted }] of this.#members) {
      if (other === key || accepted === undefined) continue
      for (const name of [accepted.plural, accepted.singular, ...(accepted.shortNames ?? [])])
        if (name) resources.add(name)
      for (const name of [accepted.kind, accepted.listKind]) if (name) kinds.add(name)
    }
    return { resources, kinds }
  }
}

/** Each name is accepted that is free; one that is taken leaves the one accepted before. */
export function judgeNames(definition: CustomResourceDefinition, used: NamesInUse): NamesVerdict {
  const wanted = definition.spec.names
  const accepted: Names = { ...(definition.status?.acceptedNames ?? { plural: '', kind: '' }) }
  let conflict: NamesVerdict['conflict']
  const judge = (field: 'plural' | 'singular' | 'kind' | 'listKind', taken: ReadonlySet<string>, reason: string) => {
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
