/** The contracts of src/linux against the kernel of this machine, in network namespaces of their own. */
import { conntrackContract } from '../../src/linux/conntrack.contract.ts'
import { kernelLinux } from '../../src/linux/kernel-linux.ts'
import { networkNamespaceContract } from '../../src/linux/network-namespace.contract.ts'
import { nftablesContract } from '../../src/linux/nftables.contract.ts'
import { rtnetlinkContract } from '../../src/linux/rtnetlink.contract.ts'
import { sysctlContract } from '../../src/linux/sysctl.contract.ts'
import { asRoot } from './as-root.ts'

asRoot('kernel contracts', () => {
  networkNamespaceContract('kernel', kernelLinux)
  rtnetlinkContract('kernel', kernelLinux)
  nftablesContract('kernel', kernelLinux)
  conntrackContract('kernel', kernelLinux)
  sysctlContract('kernel', kernelLinux)
})
