package pki

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCertificatesVerify(t *testing.T) {
	authority, err := NewAuthority("test authority")
	require.NoError(t, err)
	server := func() (Pair, error) { return authority.Server("server", "kubernetes.default.svc") }
	client := func() (Pair, error) { return authority.Client("alice", "readers", "writers") }
	peer := func() (Pair, error) { return authority.Peer("etcd") }

	for _, test := range []struct {
		name string
		make func() (Pair, error)
		use  x509.ExtKeyUsage
		ok   bool
	}{
		{"server as server", server, x509.ExtKeyUsageServerAuth, true},
		{"server as client", server, x509.ExtKeyUsageClientAuth, false},
		{"client as client", client, x509.ExtKeyUsageClientAuth, true},
		{"client as server", client, x509.ExtKeyUsageServerAuth, false},
		{"peer as server", peer, x509.ExtKeyUsageServerAuth, true},
		{"peer as client", peer, x509.ExtKeyUsageClientAuth, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			pair, err := test.make()
			require.NoError(t, err)
			_, err = parse(t, pair.Certificate).Verify(x509.VerifyOptions{
				Roots: pool(t, authority), KeyUsages: []x509.ExtKeyUsage{test.use},
			})
			if test.ok {
				require.NoError(t, err)
			} else {
				require.Error(t, err, "a certificate must be good for nothing but its purpose")
			}
			_, err = tls.X509KeyPair(pair.Certificate, pair.Key)
			require.NoError(t, err, "certificate and key must belong together")
		})
	}
}

func TestServerNames(t *testing.T) {
	authority, err := NewAuthority("test authority")
	require.NoError(t, err)
	pair, err := authority.Server("server", "kubernetes.default.svc")
	require.NoError(t, err)
	certificate := parse(t, pair.Certificate)
	for _, name := range []string{"127.0.0.1", "::1", "localhost", "kubernetes.default.svc"} {
		require.NoError(t, certificate.VerifyHostname(name))
	}
	require.Error(t, certificate.VerifyHostname("192.168.1.1"), "nothing listens beyond the loopback addresses")
	require.Len(t, certificate.IPAddresses, 2)
	require.True(t, certificate.IPAddresses[0].Equal(net.IPv4(127, 0, 0, 1)))
}

func TestClientIsUserAndGroups(t *testing.T) {
	authority, err := NewAuthority("test authority")
	require.NoError(t, err)
	pair, err := authority.Client("alice", "readers", "writers")
	require.NoError(t, err)
	subject := parse(t, pair.Certificate).Subject
	require.Equal(t, "alice", subject.CommonName, "Kubernetes takes the user from here")
	require.ElementsMatch(t, []string{"readers", "writers"}, subject.Organization, "and the groups from here")
}

func TestAuthority(t *testing.T) {
	one, err := NewAuthority("test authority")
	require.NoError(t, err)
	other, err := NewAuthority("test authority")
	require.NoError(t, err)
	require.NotEqual(t, one.Key, other.Key, "keys are random")

	certificate := parse(t, one.Certificate)
	require.True(t, certificate.IsCA)
	require.True(t, certificate.MaxPathLenZero, "it must not be able to make authorities")
	require.Equal(t, x509.KeyUsageCertSign|x509.KeyUsageCRLSign, certificate.KeyUsage)

	leaf, err := one.Client("alice")
	require.NoError(t, err)
	client := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	_, err = parse(t, leaf.Certificate).Verify(x509.VerifyOptions{Roots: pool(t, other), KeyUsages: client})
	require.Error(t, err, "another authority of the same name must not be believed")

	loaded, err := LoadAuthority(one.Pair)
	require.NoError(t, err)
	leaf, err = loaded.Client("alice")
	require.NoError(t, err)
	_, err = parse(t, leaf.Certificate).Verify(x509.VerifyOptions{Roots: pool(t, one), KeyUsages: client})
	require.NoError(t, err, "what is read back is the same authority")

	_, err = LoadAuthority(leaf)
	require.ErrorContains(t, err, "is not one", "a leaf is no authority")
	_, err = LoadAuthority(Pair{Certificate: []byte("?"), Key: one.Key})
	require.ErrorContains(t, err, "not PEM")
}

func TestValidNow(t *testing.T) {
	authority, err := NewAuthority("test authority")
	require.NoError(t, err)
	pair, err := authority.Client("alice")
	require.NoError(t, err)
	certificate := parse(t, pair.Certificate)
	require.True(t, certificate.NotBefore.Before(time.Now().Add(-time.Minute)),
		"a clock that is a minute behind must not refuse it")
	require.True(t, certificate.NotAfter.After(time.Now().Add(300*24*time.Hour)))
}

func TestSigningKey(t *testing.T) {
	private, public, err := SigningKey()
	require.NoError(t, err)
	block, _ := pem.Decode(private)
	key, err := x509.ParseECPrivateKey(block.Bytes)
	require.NoError(t, err)
	block, _ = pem.Decode(public)
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	require.NoError(t, err)
	require.True(t, key.PublicKey.Equal(parsed), "the two must belong together")
}

func parse(t *testing.T, content []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(content)
	require.NotNil(t, block)
	certificate, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	return certificate
}

func pool(t *testing.T, authority *Authority) *x509.CertPool {
	t.Helper()
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(authority.Certificate))
	return pool
}
