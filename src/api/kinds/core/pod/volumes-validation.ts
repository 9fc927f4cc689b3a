import type { PodSpec, Volume } from '../../../generated/core-v1.ts'
import { duplicate, type FieldError, forbidden, required } from '../../../meta/field-error.ts'
import type { FieldPath } from '../../../meta/field-path.ts'
import { isDns1123Label } from '../../../meta/names.ts'
import { refuseField } from './pod-check.ts'
import { VOLUME_SOURCES } from './volume-sources-validation.ts'

/** Checks the volumes of a pod, and returns them by name for the mounts to look up. */
export function validateVolumes(spec: PodSpec, path: FieldPath, errors: FieldError[]): Map<string, Volume> {
  const byName = new Map<string, Volume>()
  const { volumes } = spec
  if (!volumes) return byName
  for (let i = 0; i < volumes.length; i++) {
    const volume = volumes[i]!
    const at = path.index(i)
    const { name = '' } = volume
    const before = errors.length
    checkSource(volume, at, errors)
    if (name === '') errors.push(required(at.child('name')))
    else {
      refuseField(errors, at, 'name', name, isDns1123Label(name))
      if (byName.has(name)) errors.push(duplicate(at.child('name'), name))
    }
    // A broken volume is not there for its mounts either; they say so.
    if (errors.length === before) byName.set(name, volume)
  }
  return byName
}

/** Exactly one kind of volume; the first one named is checked, each further one refused. */
function checkSource(volume: Volume, path: FieldPath, errors: FieldError[]): void {
  let sources = 0
  for (const field in volume) {
    if (field === 'name') continue
    const source = VOLUME_SOURCES[field as keyof typeof VOLUME_SOURCES]
    if (source === undefined || volume[field as keyof Volume] === undefined) continue
    if (sources++ > 0) errors.push(forbidden(path.child(field), 'may not specify more than 1 volume type'))
    else source(volume as never, path, errors)
  }
  if (sources === 0) errors.push(required(path, 'must specify a volume type'))
}
