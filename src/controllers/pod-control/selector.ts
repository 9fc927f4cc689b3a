import { compileLabelSelector, type LabelSelector, NOTHING, type Selector } from '../../api/meta/label-selector.ts'

const compiled = new WeakMap<LabelSelector, Selector>()

/** The compiled selector of an object, compiled once: orphans are held against every owner of their namespace. */
export function compiledSelector(selector: LabelSelector | undefined): Selector {
  if (!selector) return NOTHING
  let known = compiled.get(selector)
  if (!known) {
    known = compileLabelSelector(selector)
    compiled.set(selector, known)
  }
  return known
}
