// Package pki makes the certificates with which the programs of the control
// plane, and the people who talk to it, prove who they are.
//
// There are two authorities, and that is on purpose: etcd lets in everyone
// whose certificate its authority has signed, and asks nothing further. Were
// it the same authority as the API server's, every user of the API could read
// and write the store behind the API server's back.
//
//	cluster authority  → API server, controller manager, scheduler (serving);
//	                     admin and the components (clients)
//	etcd authority     → etcd (serving and peer); the API server (client)
//
// Keys are ECDSA P-256: as strong as RSA 3072, and made in microseconds.
// Left out: revocation and renewal. A certificate lasts a year and is made
// again by every start.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

const (
	authorityLife   = 10 * 365 * 24 * time.Hour
	certificateLife = 365 * 24 * time.Hour
	// clockSkew is how far a clock may be behind ours and still accept what we
	// have just made.
	clockSkew = time.Hour
)

// Pair is a certificate and its private key, both in PEM.
type Pair struct {
	Certificate, Key []byte
}

// Authority signs certificates. It can be used by one goroutine at a time.
type Authority struct {
	Pair
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority makes an authority with a fresh key.
func NewAuthority(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the key of authority %q: %w", name, err)
	}
	now := time.Now()
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              now.Add(authorityLife),
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true, // signs leaves, never another authority
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	pair, err := sign(template, template, key, key)
	if err != nil {
		return nil, fmt.Errorf("making authority %q: %w", name, err)
	}
	return LoadAuthority(pair)
}

// LoadAuthority gives back the authority that pair was written from.
func LoadAuthority(pair Pair) (*Authority, error) {
	block, _ := pem.Decode(pair.Certificate)
	if block == nil {
		return nil, fmt.Errorf("reading an authority: its certificate is not PEM")
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("reading an authority's certificate: %w", err)
	}
	if !certificate.IsCA {
		return nil, fmt.Errorf("reading an authority: %q is not one", certificate.Subject)
	}
	block, _ = pem.Decode(pair.Key)
	if block == nil {
		return nil, fmt.Errorf("reading an authority: its key is not PEM")
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("reading an authority's key: %w", err)
	}
	return &Authority{Pair: pair, certificate: certificate, key: key}, nil
}

// Server makes a certificate for something that listens on the loopback
// addresses and, beyond those, under the given names.
func (a *Authority) Server(name string, dnsNames ...string) (Pair, error) {
	return a.leaf(&x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		DNSNames:    append([]string{"localhost"}, dnsNames...),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

// Client makes a certificate for a client. Kubernetes takes the user's name
// from its common name, and the user's groups from its organizations.
func (a *Authority) Client(user string, groups ...string) (Pair, error) {
	return a.leaf(&x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// Peer makes a certificate for an etcd member, which is a server to the API
// server and both server and client to its peers (and to its own gateway).
func (a *Authority) Peer(name string) (Pair, error) {
	return a.leaf(&x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
}

func (a *Authority) leaf(template *x509.Certificate) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("making the key of %q: %w", template.Subject, err)
	}
	now := time.Now()
	template.NotBefore, template.NotAfter = now.Add(-clockSkew), now.Add(certificateLife)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	pair, err := sign(template, a.certificate, key, a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("signing the certificate of %q: %w", template.Subject, err)
	}
	return pair, nil
}

// sign issues template in the name of issuer.
func sign(template, issuer *x509.Certificate, key, issuerKey *ecdsa.PrivateKey) (Pair, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return Pair{}, err
	}
	template.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, &key.PublicKey, issuerKey)
	if err != nil {
		return Pair{}, err
	}
	private, err := marshalKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{Certificate: encode("CERTIFICATE", der), Key: private}, nil
}

// SigningKey makes the key pair that service account tokens are signed and
// checked with: no certificate, because nobody connects with it.
func SigningKey() (private, public []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("making the service account key: %w", err)
	}
	if private, err = marshalKey(key); err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, nil, fmt.Errorf("writing the service account key: %w", err)
	}
	return private, encode("PUBLIC KEY", der), nil
}

func marshalKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("writing a key: %w", err)
	}
	return encode("EC PRIVATE KEY", der), nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
