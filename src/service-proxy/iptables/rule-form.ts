/** One form for a rule, whoever wrote it: iptables-save prints the same rule in other words than it was given. */
import { addressBits, cidrOf, formatCIDR, parseCIDR, parseIP } from '../../base/ip-address.ts'
import { parseRule, type RuleOption } from './rule-match.ts'

export function ruleForm(rule: string): string {
  const forms: string[] = []
  for (const option of parseRule(rule).options) {
    const form = formOf(option)
    if (form !== '') forms.push(form)
  }
  return forms.sort().join(' ')
}

/** Modules follow from their options; the rest of these is said by iptables-save alone, and always the same. */
const UNSAID = new Set(['-m', '--mask', '--rsource'])
const USUAL_REJECTS = new Set(['icmp-port-unreachable', 'icmp6-port-unreachable'])
/** The kernel keeps chances as fractions of 2^31. */
const CHANCE_DIGITS = 6

/** Empty if it says nothing. */
function formOf({ name, value, isNot }: RuleOption): string {
  if (UNSAID.has(name)) return ''
  const say = (said: string, as = name) => `${isNot ? '! ' : ''}${as} ${said}`
  switch (name) {
    case '-s':
    case '-d':
      return say(rangeForm(value))
    case '--or-mark':
      return say(`${value}/${value}`, '--set-xmark')
    case '--xor-mark':
      return say(`${value}/0x0`, '--set-xmark')
    case '--probability':
      return say(Number(value).toFixed(CHANCE_DIGITS))
    case '--ctstate':
      return say(value.split(',').sort().join())
    case '--reject-with':
      return USUAL_REJECTS.has(value) ? '' : say(value)
    default:
      return say(value)
  }
}

function rangeForm(text: string): string {
  // Nearly all of them.
  if (!text.includes(':')) {
    if (text.endsWith('/32')) return text
    if (!text.includes('/')) return `${text}/32`
  }
  const cidr = parseCIDR(text)
  if (cidr) return formatCIDR(cidr)
  const ip = parseIP(text)
  return ip ? formatCIDR(cidrOf(ip, addressBits(ip.family))) : text
}

/**
 * Whether a chain is as it should be. The rules of ports stand in any order before those that must be last: changes put new
 * ones first.
 */
export function sameChain(saved: readonly string[], ofPorts: readonly string[], last: readonly string[]): boolean {
  if (saved.length !== ofPorts.length + last.length) return false
  const forms = saved.map(ruleForm)
  const isSame = (a: readonly string[], b: readonly string[]) => a.every((form, i) => form === b[i])
  return (
    isSame(last.map(ruleForm), forms.slice(ofPorts.length)) &&
    isSame(ofPorts.map(ruleForm).sort(), forms.slice(0, ofPorts.length).sort())
  )
}
