/** The Kubernetes release whose API and behaviour this package has. */
export const KUBERNETES_VERSION = 'v1.36.0'

/** The version of this package; a test holds it equal to package.json. */
export const SAMPAN_VERSION = '0.1.0'
