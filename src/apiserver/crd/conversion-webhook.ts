import type { CustomResourceDefinition, WebhookConversion } from '../../api/generated/apiextensions-v1.ts'
import { ApiError, internalError } from '../../api/meta/api-error.ts'
import type { KubernetesObject, ObjectMeta } from '../../api/meta/object.ts'
import type { Random } from '../../base/random.ts'
import type { Converter } from './conversion.ts'

/** Sends a JSON document to where a webhook's client configuration points, and returns the answer. */
export type CallWebhook = (client: WebhookConversion['clientConfig'], body: object) => Promise<unknown>

interface ConversionReview {
  kind?: string
  apiVersion?: string
  response?: {
    uid?: string
    convertedObjects?: KubernetesObject[]
    result?: { status?: string; message?: string }
  }
}

const REVIEW_VERSIONS = ['v1', 'v1beta1']

/** Conversion by a program of the definition's author, asked with a ConversionReview. */
export function webhookConverter(definition: CustomResourceDefinition, call: CallWebhook, random: Random): Converter {
  const { names, conversion } = definition.spec
  const { clientConfig, conversionReviewVersions = [] } = conversion?.webhook ?? {}
  const reviewVersion = conversionReviewVersions.find((version) => REVIEW_VERSIONS.includes(version)) ?? 'v1'
  const apiVersion = `apiextensions.k8s.io/${reviewVersion}`
  return {
    isTrivial: false,
    async convert(objects, desiredAPIVersion) {
      const foreign = objects.filter((object) => object.apiVersion !== desiredAPIVersion)
      if (foreign.length === 0) return [...objects]
      const from = foreign[0]!.apiVersion ?? ''
      const fail = (why: string) => conversionFailed(`${from}, Kind=${names.kind}`, why)
      const uid = random.uuid()
      const request = { uid, desiredAPIVersion, objects: foreign }
      let review: ConversionReview
      try {
        review = (await call(clientConfig, { kind: 'ConversionReview', apiVersion, request })) as ConversionReview
      } catch (error) {
        throw error instanceof ApiError ? error : fail(error instanceof Error ? error.message : String(error))
      }
      const converted = checkReview(review, apiVersion, uid, foreign.length, fail)
      converted.forEach((object, i) => {
        checkConverted(object, foreign[i]!, desiredAPIVersion, i, fail)
      })
      let next = 0
      return objects.map((object) =>
        object.apiVersion === desiredAPIVersion ? object : restoreMetadata(converted[next++]!, object),
      )
    },
  }
}

type Fail = (why: string) => ApiError

const conversionFailed = (from: string, why: string) => internalError(`conversion webhook for ${from} failed: ${why}`)

function checkReview(review: ConversionReview, apiVersion: string, uid: string, count: number, fail: Fail) {
  const { response } = review ?? {}
  if (review?.kind !== 'ConversionReview' || review.apiVersion !== apiVersion)
    throw fail(`expected ConversionReview of ${apiVersion}, got ${review?.apiVersion ?? ''}, ${review?.kind ?? ''}`)
  if (response?.uid !== uid)
    throw fail(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(response?.uid ?? '')}`)
  if (response.result?.status !== 'Success') {
    const { message = '', status = '' } = response.result ?? {}
    throw fail(message || `expected Success in response.result.status, got ${JSON.stringify(status)}`)
  }
  const converted = response.convertedObjects ?? []
  if (converted.length !== count) throw fail(`returned ${converted.length} objects, expected ${count}`)
  return converted
}

/** A converter may change everything but what an object is. */
function checkConverted(
  object: KubernetesObject,
  original: KubernetesObject,
  apiVersion: string,
  index: number,
  fail: Fail,
): void {
  const refuse = (why: string) => fail(`invalid converted object at index ${index}: ${why}`)
  if (typeof object !== 'object' || object === null || typeof object.metadata !== 'object' || !object.metadata)
    throw refuse('invalid metadata of type object')
  if (object.kind !== original.kind) throw refuse(`invalid kind: expected ${original.kind}, got ${String(object.kind)}`)
  if (object.apiVersion !== apiVersion)
    throw refuse(`invalid groupVersion (unexpected version): expected ${apiVersion}, got ${String(object.apiVersion)}`)
  for (const field of ['name', 'namespace', 'uid'] as const) {
    const [before, after] = [original.metadata[field], object.metadata[field]]
    if (before !== after) throw refuse(`metadata.${field} is immutable, expected ${before}, got ${String(after)}`)
  }
}

/** Only labels and annotations are taken from what came back. */
function restoreMetadata(converted: KubernetesObject, original: KubernetesObject): KubernetesObject {
  const { labels: _, annotations: __, ...kept } = original.metadata
  const { labels, annotations } = converted.metadata
  const metadata: ObjectMeta = { ...kept, ...(labels && { labels }), ...(annotations && { annotations }) }
  return { ...converted, metadata }
}
