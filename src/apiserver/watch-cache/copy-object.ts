import type { KubernetesObject } from '../../api/meta/object.ts'

/** A private copy of a parsed object: half the price of parsing its bytes again, and its texts are shared. */
export function copyObject(object: KubernetesObject): KubernetesObject {
  return copyMap(object as unknown as Fields) as unknown as KubernetesObject
}

type Fields = Record<string, unknown>

function copyValue(value: object): unknown {
  return Array.isArray(value) ? copyList(value) : copyMap(value as Fields)
}

/** A spread keeps the shape of what it copies, which makes the copy as small and as fast as the original. */
function copyMap(map: Fields): Fields {
  const copy = { ...map }
  for (const name of Object.keys(copy)) {
    const value = copy[name]
    if (typeof value !== 'object' || value === null) continue
    if (name !== '__proto__') copy[name] = copyValue(value)
    else
      Object.defineProperty(copy, name, {
        value: copyValue(value),
        writable: true,
        enumerable: true,
        configurable: true,
      })
  }
  return copy
}

function copyList(list: readonly unknown[]): unknown[] {
  const copy = list.slice()
  for (let i = 0; i < copy.length; i++) {
    const value = copy[i]
    if (typeof value === 'object' && value !== null) copy[i] = copyValue(value)
  }
  return copy
}
