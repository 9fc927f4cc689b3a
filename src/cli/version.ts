/** The version of this package; a test holds it equal to package.json. */
export const SAMPAN_VERSION = '0.1.0'
