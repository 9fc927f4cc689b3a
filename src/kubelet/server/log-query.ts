import { ApiError } from '../../api/meta/api-error.ts'
import { parseTime } from '../../api/meta/time.ts'
import type { ContainerLogOptions } from './pod-access.ts'

const invalid = (message: string) => new ApiError(422, 'Invalid', message)

/** The query of a request for logs, by PodLogOptions' names. */
export function logOptions(query: URLSearchParams, now: number): ContainerLogOptions {
  const number = (name: string, minimum: number) => {
    const text = query.get(name)
    if (text === null || text === '' || (name === 'tailLines' && text === 'all')) return undefined
    const value = Number(text)
    if (!Number.isInteger(value) || value < minimum)
      throw invalid(`PodLogOptions.v1 is invalid: ${name}: Invalid value: ${JSON.stringify(text)}`)
    return value
  }
  const flag = (name: string) => ['true', '1'].includes(query.get(name) ?? '')
  const since = number('sinceSeconds', 1)
  const at = query.get('sinceTime')
  if (since !== undefined && at)
    throw invalid('PodLogOptions.v1 is invalid: at most one of `sinceTime` or `sinceSeconds` may be specified')
  const sinceTime = since !== undefined ? now - since * 1000 : at ? parseTime(at) : undefined
  const tailLines = number('tailLines', 0)
  const limitBytes = number('limitBytes', 1)
  const stream = query.get('stream')?.toLowerCase()
  return {
    follow: flag('follow'),
    previous: flag('previous'),
    timestamps: flag('timestamps'),
    ...(sinceTime !== undefined && { sinceTime }),
    ...(tailLines !== undefined && { tailLines }),
    ...(limitBytes !== undefined && { limitBytes }),
    ...((stream === 'stdout' || stream === 'stderr') && { stream }),
  }
}
