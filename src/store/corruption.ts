/** What is on disk is not what was written, and no crash explains it. Nothing was changed. */
export class CorruptStoreError extends Error {
  override readonly name = 'CorruptStoreError'
  readonly file: string
  readonly offset: number

  constructor(file: string, offset: number, what: string) {
    super(
      `${file} is damaged at offset ${offset}: ${what}. ` +
        'The store was left untouched; restore a snapshot into an empty directory to go on',
    )
    this.file = file
    this.offset = offset
  }
}
