/** 2: etcd, where it is the store. What its members say to each other is not seen from here. */
import { miss, notApplicable, pass, passIf, unknown } from '../control.ts'
import type { CisFacts, EtcdFacts } from '../facts.ts'
import { advised, type CisControl, scored } from './rows.ts'

const TLS = 'start etcd with TLS, then: sampan up --store etcds://HOST:PORT --etcd-ca FILE'

const ofEtcd =
  (check: (etcd: EtcdFacts) => ReturnType<CisControl['check']>) =>
  ({ etcd }: CisFacts) =>
    etcd ? check(etcd) : notApplicable('the store is part of the server: there is no etcd')

const plain = ({ endpoints }: EtcdFacts) =>
  endpoints.filter(({ certificate }) => !certificate).map(({ address }) => address)

const betweenMembers = ofEtcd(() => unknown('connections between members of etcd are not seen from here'))

export const etcd = [
  scored(
    '2.1',
    'etcd speaks TLS',
    TLS,
    ofEtcd((facts) => {
      const without = plain(facts)
      return without.length > 0
        ? miss(`without TLS: ${without.join(', ')}`)
        : pass(`by TLS: ${facts.endpoints.map(({ address }) => address).join(', ')}`)
    }),
  ),
  scored(
    '2.2',
    'etcd asks clients for a certificate',
    'etcd --client-cert-auth',
    ofEtcd(({ endpoints }) => {
      const open = endpoints.filter(({ acceptsAnyClient }) => acceptsAnyClient).map(({ address }) => address)
      return passIf(
        open.length === 0,
        open.length === 0 ? 'a client without a certificate is refused' : `accepts any client: ${open.join(', ')}`,
      )
    }),
  ),
  scored(
    '2.3',
    'The certificate of etcd is not signed by itself',
    'start etcd without --auto-tls',
    ofEtcd((facts) => {
      const own = facts.endpoints.filter(
        ({ certificate }) => !certificate || certificate.issuer === certificate.subject,
      )
      return passIf(
        own.length === 0,
        facts.endpoints
          .map(
            ({ address, certificate }) =>
              `${address}: ${certificate ? `issued by ${certificate.issuer}` : 'no certificate'}`,
          )
          .join(', '),
      )
    }),
  ),
  scored(
    '2.4',
    'Members of etcd speak TLS with each other',
    'etcd --peer-cert-file FILE --peer-key-file FILE',
    betweenMembers,
  ),
  scored('2.5', 'Members of etcd ask each other for a certificate', 'etcd --peer-client-cert-auth', betweenMembers),
  scored(
    '2.6',
    'Certificates between members are not signed by themselves',
    'start etcd without --peer-auto-tls',
    betweenMembers,
  ),
  advised(
    '2.7',
    'etcd has an authority of its own',
    'sampan up --etcd-ca FILE with another authority',
    ofEtcd(({ isAuthorityShared }) =>
      passIf(
        !isAuthorityShared,
        isAuthorityShared ? 'the authority of the cluster signs for etcd too' : 'another authority signs for etcd',
      ),
    ),
  ),
]
