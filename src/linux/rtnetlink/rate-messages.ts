/** The token bucket filter at the root of a link. */
import { attributesOf, type NetlinkMessage, nested, textIn } from '../netlink/reader.ts'
import type { NetlinkWriter } from '../netlink/writer.ts'
import type { RateLimit } from '../rtnetlink.ts'

export const RTM_NEWQDISC = 36
export const RTM_DELQDISC = 37
export const RTM_GETQDISC = 38

const TCA_KIND = 1
const TCA_OPTIONS = 2
const TCA_TBF_PARMS = 1
const TCA_TBF_RATE64 = 4
const TCA_TBF_BURST = 6
const ROOT = 0xffffffff
const LINK_LAYER_ETHERNET = 1
const HEADER_BYTES = 20
const LARGEST_RATE32 = 0xffffffff
/** A packet as large as the kernel makes them passes at once, and 10 ms of the rate. */
const SMALLEST_BURST = 65_536
const BURST_SECONDS = 0.01
/** How long a packet may wait before it is dropped. */
const LATENCY_SECONDS = 0.025

/** struct tcmsg */
export function writeQdiscHeader(writer: NetlinkWriter, link: number): void {
  writer.u8(0).u8(0).u16(0).u32(link).u32(0).u32(ROOT).u32(0)
}

export function writeRateLimit(writer: NetlinkWriter, { link, bitsPerSecond }: RateLimit): void {
  const bytesPerSecond = Math.max(1, Math.floor(bitsPerSecond / 8))
  const burst = Math.min(Math.max(SMALLEST_BURST, Math.floor(bytesPerSecond * BURST_SECONDS)), 0x7fffffff)
  const limit = Math.min(burst + Math.floor(bytesPerSecond * LATENCY_SECONDS), 0xffffffff)
  writeQdiscHeader(writer, link)
  writer.attributeString(TCA_KIND, 'tbf')
  writer.nest(TCA_OPTIONS, () => {
    writer.attributeBytes(TCA_TBF_PARMS, parameters(bytesPerSecond, limit))
    if (bytesPerSecond > LARGEST_RATE32) writer.attributeBytes(TCA_TBF_RATE64, u64(bytesPerSecond))
    writer.attributeU32(TCA_TBF_BURST, burst)
  })
}

/** struct tc_tbf_qopt: two struct tc_ratespec, the second of the peak rate, then limit, buffer and mtu. */
function parameters(bytesPerSecond: number, limit: number): Buffer {
  const bytes = Buffer.alloc(36)
  bytes[1] = LINK_LAYER_ETHERNET
  bytes.writeUInt32LE(Math.min(bytesPerSecond, LARGEST_RATE32), 8)
  bytes.writeUInt32LE(limit, 24)
  return bytes
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

export const writeAnyQdisc = (writer: NetlinkWriter) => writer.zeros(HEADER_BYTES)

export function readRateLimit(message: NetlinkMessage): RateLimit | undefined {
  const attributes = attributesOf(message.data, HEADER_BYTES)
  if (textIn(attributes, TCA_KIND) !== 'tbf' || message.data.readUInt32LE(12) !== ROOT) return undefined
  const options = nested(attributes, TCA_OPTIONS)
  const large = options.get(TCA_TBF_RATE64)
  const bytesPerSecond = large ? Number(large.readBigUInt64LE(0)) : (options.get(TCA_TBF_PARMS)?.readUInt32LE(8) ?? 0)
  return { link: message.data.readUInt32LE(4), bitsPerSecond: bytesPerSecond * 8 }
}
