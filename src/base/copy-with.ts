/**
 * `{ ...object, ...more }` for objects made by the thousand. In Node 20 a copy by spread that then gets a new field has
 * a hidden class of its own, and is ten times as slow to make and to read.
 */
export function copyWith<T extends object, U extends object>(object: T, more: U): Omit<T, keyof U> & U {
  return Object.assign({}, object, more)
}
