/** Numbers of the kernel's nf_tables interface that more than one file needs. */

import { attributesOf, be32In, textIn } from '../netlink/reader.ts'
import type { NetlinkWriter } from '../netlink/writer.ts'
import type { NftFamily, NftRegister, NftVerdict } from '../nft-expressions.ts'

export const FAMILIES: Record<NftFamily, number> = { inet: 1, ip: 2, ip6: 10 }
export const FAMILY_NAMES = new Map(Object.entries(FAMILIES).map(([name, id]) => [id, name as NftFamily]))

export const LIST_ELEMENT = 1
const DATA_VALUE = 1
const DATA_VERDICT = 2
const VERDICT_CODE = 1
const VERDICT_CHAIN = 2

const VERDICTS = { drop: 0, accept: 1, continue: -1, jump: -3, goto: -4, return: -5 } as const
const VERDICT_NAMES = new Map(
  Object.entries(VERDICTS).map(([name, code]) => [code as number, name as keyof typeof VERDICTS]),
)

/** NFT_REG32_00 */
const FIRST_REGISTER = 8
/** The register whose value is the verdict. */
export const VERDICT_REGISTER = 0

export const registerNumber = (register: NftRegister) => FIRST_REGISTER + register

/** The kernel prints every fourth register by its old name, NFT_REG_1 to NFT_REG_4. */
export const registerOf = (number: number): NftRegister =>
  number < FIRST_REGISTER ? (number - 1) * 4 : number - FIRST_REGISTER

export function writeData(writer: NetlinkWriter, attribute: number, value: Uint8Array): void {
  const start = writer.beginNest(attribute)
  writer.attributeBytes(DATA_VALUE, value).endNest(start)
}

export function writeVerdict(writer: NetlinkWriter, attribute: number, verdict: NftVerdict): void {
  const data = writer.beginNest(attribute)
  const start = writer.beginNest(DATA_VERDICT)
  writer.attributeBe32(VERDICT_CODE, VERDICTS[verdict.verdict])
  if ('chain' in verdict) writer.attributeString(VERDICT_CHAIN, verdict.chain)
  writer.endNest(start).endNest(data)
}

/** The copy outlives the receive buffer. */
export function readData(bytes: Buffer | undefined): Buffer | undefined {
  const value = bytes && attributesOf(bytes).get(DATA_VALUE)
  return value && Buffer.from(value)
}

export function readVerdict(bytes: Buffer | undefined): NftVerdict | undefined {
  const data = bytes && attributesOf(bytes).get(DATA_VERDICT)
  return data && verdictOf(data)
}

export function verdictOf(bytes: Buffer): NftVerdict {
  const attributes = attributesOf(bytes)
  const verdict = VERDICT_NAMES.get((be32In(attributes, VERDICT_CODE) ?? 0) | 0) ?? 'continue'
  const chain = textIn(attributes, VERDICT_CHAIN)
  return verdict === 'jump' || verdict === 'goto' ? { verdict, chain: chain ?? '' } : { verdict }
}

/** nft's user data: type, length, value, one after another. */
export function commentUserData(type: number, comment: string): Buffer {
  const text = Buffer.from(`${comment}\0`)
  if (text.length > 128) throw new RangeError(`comment of ${text.length - 1} bytes: 127 is the limit`)
  return Buffer.concat([Buffer.from([type, text.length]), text])
}

export function commentOf(userData: Buffer | undefined, type: number): string | undefined {
  for (let at = 0; userData && at + 2 <= userData.length; at += 2 + userData[at + 1]!) {
    if (userData[at] === type) return userData.toString('utf8', at + 2, at + 1 + userData[at + 1]!)
  }
  return undefined
}
