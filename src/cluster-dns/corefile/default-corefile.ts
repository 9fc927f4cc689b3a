/**
 * What is served where nobody says otherwise. The server shares the network of its node, so that health, ready and
 * prometheus, whose ports pods may want, are left out.
 */
export const defaultCorefile = (zone: string) => `.:53 {
    errors
    kubernetes ${zone} in-addr.arpa ip6.arpa {
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
        ttl 30
    }
    forward . /etc/resolv.conf {
        max_concurrent 1000
    }
    cache 30 {
        disable success ${zone}
        disable denial ${zone}
    }
    loop
    reload
    loadbalance
}
`
