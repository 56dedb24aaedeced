# tools.sh runs in a container of the node image. It writes an archive with iptables, conntrack and ip to its standard
# output, and the libraries that they load: what kube-proxy and podnet call, and what images FROM scratch lack.
# shellcheck shell=sh
set -eu
to=/tmp/tools
mkdir -p $to/usr/sbin $to/usr/lib $to/etc $to/run $to/tmp
ln -s usr/sbin $to/sbin
ln -s usr/lib $to/lib
ln -s usr/lib $to/lib64
# With their links: iptables is a link to a link to one of two programs, with nftables or without.
cp -a /usr/sbin/*tables* $to/usr/sbin/
cp -a /etc/alternatives $to/etc/
cp -L /usr/sbin/conntrack /usr/sbin/nft /sbin/ip $to/usr/sbin/
cp -a --parents /usr/lib/*/xtables $to/
ldd /usr/sbin/xtables-*-multi /usr/sbin/conntrack /usr/sbin/nft /sbin/ip |
  grep -o '/[^ ]*\.so[^ ]*' | sort -u | xargs cp -L -t $to/usr/lib
tar -C $to -c .
