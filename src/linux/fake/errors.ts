/** Errno numbers that the fakes answer as the kernel does. */
export const ENOENT = 2
export const ESRCH = 3
export const EBUSY = 16
export const EEXIST = 17
export const ENODEV = 19
export const EINVAL = 22
export const EMLINK = 31
export const ERANGE = 34
export const ENODATA = 61
export const ERESTART = 85
export const EOPNOTSUPP = 95
export const EADDRNOTAVAIL = 99
export const ENETDOWN = 100
export const ENETUNREACH = 101
export const EHOSTUNREACH = 113
