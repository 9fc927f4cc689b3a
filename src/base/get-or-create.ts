interface Lookup<K, V> {
  get(key: K): V | undefined
  set(key: K, value: V): unknown
}

/** The value of a key in a Map or WeakMap, made now if it is not there yet. */
export function getOrCreate<K, V extends object>(map: Lookup<K, V>, key: K, create: () => V): V {
  const known = map.get(key)
  if (known !== undefined) return known
  const created = create()
  map.set(key, created)
  return created
}
