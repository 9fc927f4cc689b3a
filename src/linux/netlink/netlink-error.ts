import { LinuxError } from '../system-error.ts'
import { attributesOf, type NetlinkMessage, textIn, u32In } from './reader.ts'

const NLM_F_CAPPED = 0x100
const NLM_F_ACK_TLVS = 0x200
const EXT_ACK_MESSAGE = 1
const EXT_ACK_OFFSET = 2

/** A refused message: the errno, and where the kernel gives it (extended acknowledgement) its own words. */
export interface Refusal {
  readonly errno: number
  /** The sequence number of the message that was refused. */
  readonly sequence: number
  readonly text?: string
  /** Where in the message the wrong attribute stands. */
  readonly offset?: number
}

/** Reads an NLMSG_ERROR; undefined when it is an acknowledgement. */
export function refusalOf(message: NetlinkMessage): Refusal | undefined {
  const errno = -message.data.readInt32LE(0)
  if (errno === 0) return undefined
  const sequence = message.data.length >= 16 ? message.data.readUInt32LE(12) : message.sequence
  if ((message.flags & NLM_F_ACK_TLVS) === 0) return { errno, sequence }
  const original = message.flags & NLM_F_CAPPED ? 16 : (message.data.readUInt32LE(4) + 3) & ~3
  const attributes = attributesOf(message.data, 4 + original)
  return { errno, sequence, text: textIn(attributes, EXT_ACK_MESSAGE), offset: u32In(attributes, EXT_ACK_OFFSET) }
}

export const refusalError = (refusal: Refusal, what: string) => new LinuxError(refusal.errno, what, refusal.text)
