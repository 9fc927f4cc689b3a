import type { WindowsSecurityContextOptions } from '../../../generated/core-v1.ts'
import { type FieldError, invalid } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import { isDns1123Subdomain } from '../../../meta/names.ts'
import { refuseField } from './pod-check.ts'

const MAX_CREDENTIAL_KIB = 64
const MAX_DOMAIN = 256
const MAX_USER = 104
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for.
const CONTROL = /[\u0000-\u001f\u007f]/
const NETBIOS = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/
const DOMAIN = /^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/
const USER_FORBIDS = /["/\\:;|=,+*?<>@[\]]/

export function validateWindowsOptions(
  options: WindowsSecurityContextOptions | undefined,
  path: FieldPath,
  errors: FieldError[],
): void {
  if (!options) return
  const { gmsaCredentialSpecName: name, gmsaCredentialSpec: spec, runAsUserName: user } = options
  if (name !== undefined) refuseField(errors, path, 'gmsaCredentialSpecName', name, isDns1123Subdomain(name))
  if (spec === '')
    errors.push(invalid(path.child('gmsaCredentialSpec'), spec, 'gmsaCredentialSpec cannot be an empty string'))
  else if (spec !== undefined && Buffer.byteLength(spec) > MAX_CREDENTIAL_KIB * 1024)
    errors.push(
      invalid(
        path.child('gmsaCredentialSpec'),
        spec,
        `gmsaCredentialSpec size must be under ${MAX_CREDENTIAL_KIB} KiB`,
      ),
    )
  if (user !== undefined) refuseField(errors, path, 'runAsUserName', user, userNameMessages(user))
}

/** `DOMAIN\user` or `user`, as Windows spells them. */
function userNameMessages(name: string): string[] {
  if (name === '') return ['runAsUserName cannot be an empty string']
  if (CONTROL.test(name)) return ['runAsUserName cannot contain control characters']
  const parts = name.split('\\')
  if (parts.length > 2) return ['runAsUserName cannot contain more than one backslash']
  const [domain, user] = parts.length === 1 ? [undefined, parts[0]!] : [parts[0]!, parts[1]!]
  const messages: string[] = []
  if (domain !== undefined && domain.length >= MAX_DOMAIN)
    messages.push(`runAsUserName's Domain length must be under ${MAX_DOMAIN} characters`)
  if (domain !== undefined && !NETBIOS.test(domain) && !DOMAIN.test(domain))
    messages.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format")
  if (user === '') messages.push("runAsUserName's User cannot be empty")
  else if (user.length > MAX_USER)
    messages.push(`runAsUserName's User length must not be longer than ${MAX_USER} characters`)
  if (/^[. ]+$/.test(user)) messages.push("runAsUserName's User cannot contain only periods or spaces")
  if (USER_FORBIDS.test(user))
    messages.push('runAsUserName\'s User cannot contain the following characters: "/\\:;|=,+*?<>@[]')
  return messages
}
