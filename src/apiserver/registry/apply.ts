import { badRequest } from '../../api/meta/api-error.ts'
import type { Answer } from './answer.ts'
import type { Machinery } from './machinery.ts'
import type { ResourceRequest } from './request.ts'
import type { WriteOptions } from './write-options.ts'

export async function apply(_machinery: Machinery, _request: ResourceRequest, _options: WriteOptions): Promise<Answer> {
  throw badRequest('apply is not wired yet')
}
