import assert from 'node:assert'
import { parseConfiguration, parseDocument } from '../../../src/container-runtime/images/documents.ts'
import { parseReference } from '../../../src/container-runtime/images/reference.ts'
import { RuntimeError } from '../../../src/container-runtime/runtime.ts'
import { attempt, type FuzzTarget } from '../engine/target.ts'

/** Indexes, manifests and configurations of images, and references to them. */
export const target: FuzzTarget = {
  steps: { fixed: 3000, perByte: 100 },
  dictionary: [
    '"schemaVersion":2',
    '"manifests":[',
    '"layers":[',
    '"config":{',
    '"digest":"sha256:',
    '"size":',
    '"platform":{',
    '"rootfs":{"diff_ids":[',
    '"Env":[',
    '"Volumes":{',
    '"__proto__":',
    'docker.io/',
    ':latest',
    '@sha256:',
    'a'.repeat(64),
  ],
  run(input) {
    const document = attempt(() => parseDocument(input), RuntimeError)
    const configuration = attempt(() => parseConfiguration(input), RuntimeError)
    const reference = parseReference(input.toString())
    if (reference) assert.strictEqual(parseReference(reference.name)?.name, reference.name)
    return { document, configuration, reference }
  },
}
