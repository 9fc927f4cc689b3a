import { type FieldError, invalid, required } from '../../meta/field-error.ts'
import type { FieldPath } from '../../meta/field-path.ts'
import { isDns1123Subdomain, isPortNumber } from '../../meta/names.ts'

/** Where a webhook listens: a URL or a service. Also in the conversion of custom resources. */
export interface WebhookClientConfig {
  url?: string
  service?: { name?: string; namespace?: string; path?: string; port?: number }
  caBundle?: string
}

const FORM = '; desired format: https://host[/path]'

export function defaultWebhookClient(config: WebhookClientConfig | undefined): void {
  if (config?.service) config.service.port ??= 443
}

/** `path` is that of the configuration, `named` the field users are told about. */
export function validateWebhookClient(config: WebhookClientConfig, path: FieldPath): FieldError[] {
  if ((config.url === undefined) === (config.service === undefined))
    return [required(path, 'exactly one of url or service is required')]
  return config.service
    ? validateService(config.service, path.child('service'))
    : validateUrl(config.url ?? '', path.child('url'))
}

function validateUrl(text: string, path: FieldPath): FieldError[] {
  if (!URL.canParse(text)) return validateUnparsable(text, path)
  const url = new URL(text)
  const errors: FieldError[] = []
  const scheme = url.protocol.slice(0, -1)
  if (scheme !== 'https') errors.push(invalid(path, scheme, `'https' is the only allowed URL scheme${FORM}`))
  if (url.host === '') errors.push(invalid(path, '', `host must be specified${FORM}`))
  if (url.username !== '' || url.password !== '')
    errors.push(invalid(path, url.username, 'user information is not permitted in the URL'))
  if (url.hash !== '') errors.push(invalid(path, url.hash.slice(1), 'fragments are not permitted in the URL'))
  if (url.search !== '')
    errors.push(invalid(path, url.search.slice(1), 'query parameters are not permitted in the URL'))
  return errors
}

/** A relative URL parses as one without scheme and host upstream, and is refused for lacking both. */
function validateUnparsable(text: string, path: FieldPath): FieldError[] {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1] ?? ''
  const errors: FieldError[] = []
  if (scheme.toLowerCase() !== 'https')
    errors.push(invalid(path, scheme, `'https' is the only allowed URL scheme${FORM}`))
  return [...errors, invalid(path, '', `host must be specified${FORM}`)]
}

function validateService(service: NonNullable<WebhookClientConfig['service']>, path: FieldPath): FieldError[] {
  const { name, namespace, path: urlPath, port = 0 } = service
  const errors: FieldError[] = []
  if (!name) errors.push(required(path.child('name')))
  if (!namespace) errors.push(required(path.child('namespace')))
  const wrongPort = isPortNumber(port)
  if (wrongPort.length > 0) errors.push(invalid(path.child('port'), port, `port is not valid: ${wrongPort.join(', ')}`))
  if (urlPath) errors.push(...validateUrlPath(urlPath, path.child('path')))
  return errors
}

function validateUrlPath(urlPath: string, path: FieldPath): FieldError[] {
  if (urlPath === '/') return []
  if (urlPath === '//') return [invalid(path, urlPath, 'segment[0] may not be empty')]
  const errors: FieldError[] = []
  if (!urlPath.startsWith('/')) errors.push(invalid(path, urlPath, "must start with a '/'"))
  const segments = urlPath.slice(1, urlPath.endsWith('/') ? -1 : undefined).split('/')
  segments.forEach((segment, index) => {
    if (segment === '') errors.push(invalid(path, urlPath, `segment[${index}] may not be empty`))
    else
      for (const message of isDns1123Subdomain(segment))
        errors.push(invalid(path, urlPath, `segment[${index}]: ${message}`))
  })
  return errors
}
