import { type FieldError, invalid, required, tooLong } from '../../meta/field-error.ts'
import type { FieldPath } from '../../meta/field-path.ts'
import { DNS_SUBDOMAIN_MAX, isDns1123Label, isDns1123Subdomain } from '../../meta/names.ts'

const MAX_LENGTH = DNS_SUBDOMAIN_MAX + 1 + 63 * 5

/** `example.com/signer-name`: a domain of at least two parts, and a path of labels separated by dots. */
export function validateSignerName(name: string, path: FieldPath): FieldError[] {
  if (name === '') return [required(path)]
  const [domain = '', label, ...rest] = name.split('/')
  if (label === undefined || rest.length > 0)
    return [invalid(path, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")]
  const errors: FieldError[] = []
  for (const part of domain.split('.'))
    for (const message of isDns1123Label(part))
      errors.push(invalid(path, domain, `validating label "${part}": ${message}`))
  if (!domain.includes('.'))
    errors.push(invalid(path, domain, 'should be a domain with at least two segments separated by dots'))
  for (const message of isDns1123Subdomain(label))
    errors.push(invalid(path, label, `validating label "${label}": ${message}`))
  if (Buffer.byteLength(name) > MAX_LENGTH) errors.push(tooLong(path, MAX_LENGTH))
  return errors
}
