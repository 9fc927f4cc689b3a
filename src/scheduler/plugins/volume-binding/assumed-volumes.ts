import type { VolumeChoice } from './find-volumes.ts'

/** Volumes that were chosen for a claim and are not yet bound in the API: nobody else may choose them. */
export class AssumedVolumes {
  readonly #claimOf = new Map<string, string>()

  add({ volumes }: VolumeChoice): void {
    for (const { claim, volume } of volumes) this.#claimOf.set(volume.metadata.name!, claim.metadata.uid!)
  }

  remove({ volumes }: VolumeChoice): void {
    for (const { volume } of volumes) this.#claimOf.delete(volume.metadata.name!)
  }

  isTaken(volume: string, claimUid: string): boolean {
    const owner = this.#claimOf.get(volume)
    return owner !== undefined && owner !== claimUid
  }
}
