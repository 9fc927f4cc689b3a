import type { SecureContextOptions } from 'node:tls'

/** What our servers agree to: TLS 1.2 and newer, with forward secrecy and authenticated encryption only. */
export const SERVER_TLS = {
  minVersion: 'TLSv1.2',
  ciphers: [
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'TLS_AES_128_GCM_SHA256',
    'ECDHE-ECDSA-AES128-GCM-SHA256',
    'ECDHE-RSA-AES128-GCM-SHA256',
    'ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-RSA-AES256-GCM-SHA384',
    'ECDHE-ECDSA-CHACHA20-POLY1305',
    'ECDHE-RSA-CHACHA20-POLY1305',
  ].join(':'),
} as const satisfies SecureContextOptions

/** Upstream's limits: for the TLS handshake and for the head of a request, and for a connection between requests. */
export const HEADERS_TIMEOUT_MS = 32_000
export const IDLE_TIMEOUT_MS = 90_000

/** How Node's HTTP/1.1 servers treat clients that are slow or say nothing. */
export const HTTP1_TIMEOUTS = {
  handshakeTimeout: HEADERS_TIMEOUT_MS,
  headersTimeout: HEADERS_TIMEOUT_MS,
  keepAliveTimeout: IDLE_TIMEOUT_MS,
  connectionsCheckingInterval: 10_000,
} as const
