import type { Container, ContainerFilter, PodSandbox, SandboxFilter } from '../runtime.ts'

type Labels = Readonly<Record<string, string>>

const hasLabels = (labels: Labels, wanted: Labels = {}) =>
  Object.entries(wanted).every(([name, value]) => labels[name] === value)

export const matchesSandbox = (sandbox: PodSandbox, filter: SandboxFilter = {}) =>
  (filter.id === undefined || sandbox.id === filter.id) &&
  (filter.state === undefined || sandbox.state === filter.state) &&
  hasLabels(sandbox.labels, filter.labels)

export const matchesContainer = (container: Container, filter: ContainerFilter = {}) =>
  (filter.id === undefined || container.id === filter.id) &&
  (filter.sandboxId === undefined || container.sandboxId === filter.sandboxId) &&
  (filter.state === undefined || container.state === filter.state) &&
  hasLabels(container.labels, filter.labels)
