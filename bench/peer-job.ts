import type { Credentials } from '../tests/tools/api.ts'

/** What a bare server is asked to send, over its standard input: base64 bodies by path. */
export interface PeerJob {
  tls: Credentials
  bodies: Record<string, string>
}
