import { conntrackContract } from './conntrack.contract.ts'
import { fakeLinux } from './fake-linux.ts'
import { networkNamespaceContract } from './network-namespace.contract.ts'
import { nftablesContract } from './nftables.contract.ts'
import { rtnetlinkContract } from './rtnetlink.contract.ts'
import { sysctlContract } from './sysctl.contract.ts'

networkNamespaceContract('fake', fakeLinux)
rtnetlinkContract('fake', fakeLinux)
nftablesContract('fake', fakeLinux)
conntrackContract('fake', fakeLinux)
sysctlContract('fake', fakeLinux)
