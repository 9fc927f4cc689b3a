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

export function namesInUse(others: Iterable<CustomResourceDefinition>): NamesInUse {
  const resources = new Set<string>()
  const kinds = new Set<string>()
  for (const { status } of others) {
    const names = status?.acceptedNames
    for (const name of [names?.plural, names?.singular, ...(names?.shortNames ?? [])]) if (name) resources.add(name)
    for (const name of [names?.kind, names?.listKind]) if (name) kinds.add(name)
  }
  return { resources, kinds }
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
