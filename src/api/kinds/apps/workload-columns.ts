import type { Container } from '../../generated/core-v1.ts'
import type { LabelSelector } from '../../generated/meta-v1.ts'
import type { Column } from '../../kind.ts'
import { formatSelector } from '../../meta/label-selector.ts'
import type { KubernetesObject } from '../../meta/object.ts'
import { compiledSelector } from '../core/pod/label-selectors.ts'
import { wideColumn } from '../core/printed-columns.ts'

/** Names and images of the containers that a workload runs. */
export function containerColumns<T extends KubernetesObject>(
  containers: (object: T) => readonly Container[] | undefined,
): Column<T>[] {
  return [
    wideColumn('Containers', 'Names of the containers of each pod.', (object) =>
      (containers(object) ?? []).map((container) => container.name).join(','),
    ),
    wideColumn('Images', 'Images of the containers of each pod.', (object) =>
      (containers(object) ?? []).map((container) => container.image ?? '').join(','),
    ),
  ]
}

export function selectorColumn<T extends KubernetesObject>(text: (object: T) => string): Column<T> {
  return wideColumn('Selector', 'Labels of the pods that belong to this.', text)
}

/** A selector as a cell shows it. */
export function selectorText(selector: LabelSelector | undefined): string {
  const compiled = compiledSelector(selector)
  return compiled ? formatSelector(compiled) || '<none>' : '<error>'
}

/** Labels as a cell shows them. */
export function labelsText(labels: Readonly<Record<string, string>> | undefined): string {
  const keys = Object.keys(labels ?? {}).sort()
  return keys.length === 0 ? '<none>' : keys.map((key) => `${key}=${labels![key]}`).join(',')
}
