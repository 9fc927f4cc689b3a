import type { Column, Kind } from '../../api/kind.ts'
import type { KubernetesObject, ListMeta } from '../../api/meta/object.ts'
import type { MetaVersion, PartialObjectMetadata } from './partial-metadata.ts'
import { partialObjectMetadata } from './partial-metadata.ts'

/** Rows and columns, as `kubectl get` asks for them. */
export interface Table {
  kind: 'Table'
  apiVersion: `meta.k8s.io/${MetaVersion}`
  metadata: ListMeta
  /** Null where they are left out, as Go writes a list that is not there. */
  columnDefinitions: readonly TableColumnDefinition[] | null
  rows: TableRow[]
}

export interface TableColumnDefinition {
  readonly name: string
  readonly type: string
  readonly format: string
  readonly description: string
  readonly priority: number
}

export interface TableRow {
  cells: (string | number | boolean | null)[]
  object?: PartialObjectMetadata | KubernetesObject
}

export interface TableOptions {
  /** Milliseconds since the epoch, for ages. */
  readonly now: number
  /** What each row carries besides its cells; `Metadata` when the client does not say. */
  readonly includeObject?: 'None' | 'Metadata' | 'Object'
  readonly listMeta?: ListMeta
  /** Leaves the column definitions out: later events of a watch. */
  readonly noHeaders?: boolean
  readonly version?: MetaVersion
}

/** What is printed of a kind that names no columns of its own. */
const GENERIC_COLUMNS: readonly Column[] = [
  {
    name: 'Name',
    type: 'string',
    format: 'name',
    description: 'Name of the object, unique among its kind in a namespace.',
    priority: 0,
    value: (object) => object.metadata.name ?? '',
  },
  {
    name: 'Created At',
    type: 'date',
    description: 'When the object was created, in UTC.',
    priority: 0,
    value: (object) => object.metadata.creationTimestamp ?? '0001-01-01T00:00:00Z',
  },
]

const definitions = new WeakMap<readonly Column[], readonly TableColumnDefinition[]>()

export function tableFor(kind: Kind, objects: readonly KubernetesObject[], options: TableOptions): Table {
  const columns = columnsOf(kind)
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${options.version ?? 'v1'}`,
    metadata: options.listMeta ?? {},
    columnDefinitions: options.noHeaders ? null : columnDefinitions(columns),
    rows: objects.map((object) => rowFor(columns, object, options)),
  }
}

const columnsOf = (kind: Kind) => (kind.columns.length > 0 ? kind.columns : GENERIC_COLUMNS)

function rowFor(columns: readonly Column[], object: KubernetesObject, options: TableOptions): TableRow {
  const cells = columns.map((column) => column.value(object, options.now))
  switch (options.includeObject) {
    case 'None':
      return { cells }
    case 'Object':
      return { cells, object }
    default:
      return { cells, object: partialObjectMetadata(object, options.version) }
  }
}

/** Made once for each list of columns; shared by every answer. */
function columnDefinitions(columns: readonly Column[]): readonly TableColumnDefinition[] {
  let known = definitions.get(columns)
  if (known === undefined) {
    known = columns.map(({ name, type, format = '', description, priority }) => ({
      name,
      type,
      format,
      description,
      priority,
    }))
    definitions.set(columns, known)
  }
  return known
}
