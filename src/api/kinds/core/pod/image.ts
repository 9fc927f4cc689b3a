/** Tags that move are pulled each time; anything that names one image is not. */
export function defaultPullPolicy(image: string): 'Always' | 'IfNotPresent' {
  return imageTag(image) === 'latest' ? 'Always' : 'IfNotPresent'
}

const REPOSITORY = /^[a-z0-9.:_/-]+$/

/** The tag of an image; `latest` when it has neither tag nor digest, empty when it is no reference at all. */
function imageTag(image: string): string {
  const at = image.indexOf('@')
  const name = at < 0 ? image : image.slice(0, at)
  const colon = name.lastIndexOf(':')
  const tagged = colon > name.lastIndexOf('/')
  const repository = tagged ? name.slice(0, colon) : name
  // A registry host may have capitals; the path after it may not.
  const path = repository.slice(repository.indexOf('/') + 1)
  if (!REPOSITORY.test(path)) return ''
  if (tagged) return name.slice(colon + 1)
  return at < 0 ? 'latest' : ''
}
