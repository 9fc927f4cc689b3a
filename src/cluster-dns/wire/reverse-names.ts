/** The address that a name below `in-addr.arpa` or `ip6.arpa` stands for. */
export function addressOfReverseName(name: string): string | undefined {
  if (name.endsWith('.in-addr.arpa')) {
    const parts = name.slice(0, -'.in-addr.arpa'.length).split('.')
    return parts.length === 4 ? parts.reverse().join('.') : undefined
  }
  if (!name.endsWith('.ip6.arpa')) return undefined
  const nibbles = name.slice(0, -'.ip6.arpa'.length).split('.')
  if (nibbles.length !== 32 || nibbles.some((nibble) => !/^[0-9a-f]$/.test(nibble))) return undefined
  return nibbles.reverse().join('').match(/.{4}/g)!.join(':')
}
