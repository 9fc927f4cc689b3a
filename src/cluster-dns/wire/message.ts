/** DNS messages as objects. Names are lower case, without the final dot; the root is the empty text. */

export interface Question {
  readonly name: string
  readonly type: number
  readonly class: number
}

/** EDNS, RFC 6891: what the asker can take beyond the original 512 bytes. */
export interface Edns {
  readonly udpSize: number
  readonly version: number
  readonly dnssecOk: boolean
}

export interface Query {
  readonly id: number
  readonly question: Question
  /** The name as it was asked: answers repeat its letters, large and small. */
  readonly asked: string
  readonly recursionDesired: boolean
  readonly checkingDisabled: boolean
  readonly edns: Edns | undefined
}

export interface Reply {
  readonly rcode: number
  readonly authoritative: boolean
  readonly answers: readonly DnsRecord[]
  readonly authority: readonly DnsRecord[]
  readonly additional: readonly DnsRecord[]
  /** Set where the answer holds until told otherwise, so that it can be kept ready. */
  readonly keep?: KeepAnswer
}

export interface KeepAnswer {
  /** The answer is void when one of these changes: `namespace/service`, a namespace, an address. */
  readonly dependsOn: readonly string[]
  /** The ways in which the answer can be given by turns; itself if there is no other. */
  readonly variants?: () => readonly Reply[]
}

export interface DnsRecord {
  readonly name: string
  readonly ttl: number
  readonly data: RecordData
}

export type RecordData =
  | { readonly type: 'A' | 'AAAA'; readonly address: string }
  | { readonly type: 'CNAME' | 'NS' | 'PTR'; readonly target: string }
  | { readonly type: 'TXT'; readonly texts: readonly string[] }
  | {
      readonly type: 'SRV'
      readonly priority: number
      readonly weight: number
      readonly port: number
      readonly target: string
    }
  | { readonly type: 'MX'; readonly preference: number; readonly target: string }
  | ({ readonly type: 'SOA' } & StartOfAuthority)
  /** Whatever else passes through, as bytes without compressed names. */
  | { readonly type: 'raw'; readonly number: number; readonly class: number; readonly bytes: Uint8Array }

export interface StartOfAuthority {
  readonly mname: string
  readonly rname: string
  readonly serial: number
  readonly refresh: number
  readonly retry: number
  readonly expire: number
  /** How long a negative answer may be kept. */
  readonly minimum: number
}

/** What is wrong with a packet; `id` if it could be read, so that the asker can be told. */
export class MalformedMessage extends Error {
  readonly id: number | undefined
  readonly rcode: number

  constructor(message: string, id: number | undefined, rcode = 1) {
    super(message)
    this.name = 'MalformedMessage'
    this.id = id
    this.rcode = rcode
  }
}
