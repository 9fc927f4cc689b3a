import type { Json, JsonObject } from '../api/meta/object.ts'
import { cloneWithoutNulls, isObject, ownField, setField } from './json-value.ts'
import { fieldShape, isGranularObject, itemElements, type MergeShape, UNKNOWN_SHAPE } from './merge-shape.ts'

/** Lays an applied configuration over the current object. Changes the draft; the configuration is left alone. */
export function mergeConfiguration(draft: JsonObject, configuration: JsonObject, shape: MergeShape): void {
  for (const name of Object.keys(configuration)) {
    const value = configuration[name]
    if (value === null || value === undefined) delete draft[name]
    else setField(draft, name, mergeValue(ownField(draft, name), value, fieldShape(shape, name) ?? UNKNOWN_SHAPE))
  }
}

function mergeValue(current: Json | undefined, value: Json, shape: MergeShape): Json {
  if (isGranularObject(shape, value) && isObject(current)) {
    mergeConfiguration(current, value, shape)
    return current
  }
  const elements = itemElements(shape, value)
  const currentElements = elements && itemElements(shape, current)
  if (!elements || !currentElements) return cloneWithoutNulls(value)
  return mergeItems(current as Json[], currentElements, value as Json[], elements, shape.list!.items)
}

/**
 * Items of the configuration come in its order. Items that only the current list has stay where they are among their
 * neighbours.
 */
function mergeItems(
  current: Json[],
  currentElements: string[],
  items: Json[],
  elements: string[],
  shape: MergeShape,
): Json[] {
  const position = new Map<string, number>()
  currentElements.forEach((element, index) => {
    if (!position.has(element)) position.set(element, index)
  })
  const applied = new Set(elements)
  const result: Json[] = []
  let next = 0
  let target = -1
  for (const [index, item] of items.entries()) {
    if (target < index) target = nextShared(elements, index, position)
    // What only the current list has comes before the next item that both have.
    for (; next < current.length && currentElements[next] !== elements[target]; next++)
      if (!applied.has(currentElements[next]!)) result.push(current[next]!)
    const at = position.get(elements[index]!)
    result.push(mergeValue(at === undefined ? undefined : current[at], item, shape))
    if (currentElements[next] === elements[index]) next++
  }
  for (; next < current.length; next++) if (!applied.has(currentElements[next]!)) result.push(current[next]!)
  return result
}

function nextShared(elements: string[], from: number, position: ReadonlyMap<string, number>): number {
  for (let index = from; index < elements.length; index++) if (position.has(elements[index]!)) return index
  return elements.length
}
