import type { Job } from '../../api/generated/batch-v1.ts'
import type { Container, Pod, PodTemplateSpec } from '../../api/generated/core-v1.ts'
import { jobKind } from '../../api/kinds/batch/job/kind.ts'
import { podFromTemplate } from '../pod-control/pod-control.ts'
import {
  COMPLETION_INDEX,
  failuresOfIndex,
  hasBackoffLimitPerIndex,
  INDEX_FAILURE_COUNT,
  INDEX_IGNORED_FAILURE_COUNT,
  ignoredFailuresOfIndex,
  TRACKING_FINALIZER,
} from './job-pod.ts'
import { judgeFailure } from './policies.ts'

/** So much of a generated name is given, the rest is random. */
const MAX_GENERATE_NAME = 58
const INDEX_VARIABLE = 'JOB_COMPLETION_INDEX'

/** A pod of the job, for one of its indexes if it has indexes, in place of one that failed if there was one. */
export function jobPod(job: Job, index: number | undefined, replaced: Pod | undefined): Pod {
  const template = job.spec!.template
  const pod = podFromTemplate(index === undefined ? template : indexedTemplate(job, index, replaced), job, jobKind)
  const finalizers = [...new Set([...(template.metadata?.finalizers ?? []), TRACKING_FINALIZER])]
  const generateName = index === undefined ? pod.metadata.generateName! : indexedGenerateName(job, index)
  return { ...pod, metadata: { ...pod.metadata, finalizers, generateName } }
}

function indexedTemplate(job: Job, index: number, replaced: Pod | undefined): PodTemplateSpec {
  const { metadata, spec } = job.spec!.template
  const labels = { ...metadata?.labels, [COMPLETION_INDEX]: String(index) }
  const annotations: Record<string, string> = { ...metadata?.annotations, [COMPLETION_INDEX]: String(index) }
  if (hasBackoffLimitPerIndex(job)) Object.assign(annotations, failureCounts(job, replaced))
  return {
    metadata: { ...metadata, labels, annotations },
    spec: {
      ...spec!,
      hostname: `${job.metadata.name}-${index}`,
      containers: spec!.containers.map(withIndexVariable),
      ...(spec!.initContainers && { initContainers: spec!.initContainers.map(withIndexVariable) }),
    },
  }
}

function failureCounts(job: Job, replaced: Pod | undefined): Record<string, string> {
  const isCounted = replaced !== undefined && judgeFailure(job, replaced).isCounted
  const failures = replaced ? failuresOfIndex(replaced) + (isCounted ? 1 : 0) : 0
  const ignored = replaced ? ignoredFailuresOfIndex(replaced) + (isCounted ? 0 : 1) : 0
  return {
    [INDEX_FAILURE_COUNT]: String(failures),
    ...(ignored > 0 && { [INDEX_IGNORED_FAILURE_COUNT]: String(ignored) }),
  }
}

function withIndexVariable(container: Container): Container {
  if (container.env?.some(({ name }) => name === INDEX_VARIABLE)) return container
  const valueFrom = { fieldRef: { fieldPath: `metadata.labels['${COMPLETION_INDEX}']` } }
  return { ...container, env: [...(container.env ?? []), { name: INDEX_VARIABLE, valueFrom }] }
}

function indexedGenerateName(job: Job, index: number): string {
  const suffix = `-${index}-`
  return `${(job.metadata.name ?? '').slice(0, MAX_GENERATE_NAME - suffix.length)}${suffix}`
}
