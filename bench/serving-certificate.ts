import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

let made: { cert: string; key: string } | undefined

/** A self-signed certificate for 127.0.0.1 of the same sort as the API server's (P-256), made with openssl. */
export function servingCertificate(): { cert: string; key: string } {
  if (made) return made
  const folder = mkdtempSync(path.join(tmpdir(), 'sampan-bench-tls-'))
  const [key, cert] = [path.join(folder, 'key.pem'), path.join(folder, 'cert.pem')]
  const request = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    '2',
    '-subj',
    '/CN=bench',
  ]
  try {
    execFileSync('openssl', [...request, '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert], {
      stdio: 'ignore',
    })
    made = { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') }
    return made
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
