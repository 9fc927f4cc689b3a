import type { Column } from '../../kind.ts'
import type { KubernetesObject } from '../../meta/object.ts'
import { age } from '../../meta/time.ts'

/** Columns that many kinds share, and short ways to write the others. */

type Cell = ReturnType<Column['value']>

export const nameColumn: Column = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'Name of the object, unique among its kind in a namespace.',
  priority: 0,
  value: (object) => object.metadata.name ?? '',
}

export const ageColumn: Column = {
  name: 'Age',
  type: 'string',
  description: 'Time since the object was created.',
  priority: 0,
  value: (object, now) => age(object.metadata.creationTimestamp, now),
}

/** A column that is always shown. */
export function column<T extends KubernetesObject>(
  name: string,
  description: string,
  value: (object: T, now: number) => Cell,
  type: Column['type'] = 'string',
): Column<T> {
  return { name, type, description, priority: 0, value }
}

/** A column shown only with `-o wide`. */
export function wideColumn<T extends KubernetesObject>(
  name: string,
  description: string,
  value: (object: T, now: number) => Cell,
): Column<T> {
  return { name, type: 'string', description, priority: 1, value }
}
