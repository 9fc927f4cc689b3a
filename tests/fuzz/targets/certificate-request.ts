import assert from 'node:assert'
import { isDerSequence } from '../../../src/api/kinds/certificates/pem.ts'
import { parseCertificateRequest } from '../../../src/controllers/certificate-signing/certificate-request.ts'
import { objectIdentifierOf, readElements, TAG } from '../../../src/x509/der.ts'
import { attempt, type FuzzTarget } from '../engine/target.ts'

const MOST_LEVELS = 12

/** The DER of certificate signing requests (PKCS #10). Whoever may create one chooses every byte. */
export const target: FuzzTarget = {
  steps: { fixed: 5000, perByte: 600 },
  maxBytes: 1024,
  dictionary: [
    '\x30\x82',
    '\x30\x80',
    '\x31\x0b',
    '\x06\x03\x55\x04\x03',
    '\x06\x03\x55\x1d\x11',
    '\x03\x42\0',
    '\xa0\x00',
    '\x87\x04',
    '\x82\x03',
  ],
  run(input) {
    checkElements(input, 0)
    isDerSequence(input)
    const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${input.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`
    const request = attempt(() => parseCertificateRequest(Buffer.from(pem).toString('base64')), Error)
    if ('error' in request) {
      // A bug shows as one of these; everything else says what is wrong with the request.
      assert(!/undefined|not iterable|stack size|Cannot read/.test(request.error), request.error)
      return request
    }
    const { publicKey, ...names } = request.value
    return names
  },
}

/** Elements are whole: together they are the bytes they were read from. */
function checkElements(bytes: Buffer, level: number): void {
  const elements = attempt(() => readElements(bytes), Error)
  if ('error' in elements || level > MOST_LEVELS) return
  assert(Buffer.concat(elements.value.map((element) => element.bytes)).equals(bytes))
  for (const element of elements.value) {
    if (element.tag === TAG.objectIdentifier) assert.match(objectIdentifierOf(element), /^[0-9.e+]+$/)
    if (element.tag & 0x20) checkElements(element.content, level + 1)
  }
}
