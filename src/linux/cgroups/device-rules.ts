/** A device, or all of a kind, and what may be done with it: `r`ead, `w`rite, `m`ake its file. */
export interface DeviceRule {
  readonly type: 'b' | 'c'
  readonly major: number | '*'
  readonly minor: number | '*'
  readonly access: string
}

const character = (major: number, minor: number | '*'): DeviceRule => ({ type: 'c', major, minor, access: 'rwm' })

/** What every container may use by the OCI runtime specification. Files of other devices can be made, not opened. */
export const STANDARD_DEVICES: readonly DeviceRule[] = [
  { type: 'c', major: '*', minor: '*', access: 'm' },
  { type: 'b', major: '*', minor: '*', access: 'm' },
  character(1, 3), // null
  character(1, 5), // zero
  character(1, 7), // full
  character(1, 8), // random
  character(1, 9), // urandom
  character(5, 0), // tty
  character(5, 1), // console
  character(5, 2), // ptmx
  character(136, '*'), // pts
]

/** As `devices.allow` of cgroup v1 wants it. */
export const ruleText = ({ type, major, minor, access }: DeviceRule) => `${type} ${major}:${minor} ${access}`
