package proxyapp

// This file serves a proxy over TLS. Its certificate and its token live as long as the process: both are in the
// kubeconfig that the program writes for its clients. A client without the token gets no answer, because the proxy acts
// with the rights of its own kubeconfig.

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// server is a proxy that listens.
type server struct {
	url, token string
	// authority is the certificate, in PEM.
	authority []byte
	http      *http.Server
}

// listen starts to serve a handler at an address. The caller must close http.
func listen(address string, handler http.Handler) (*server, error) {
	tcp, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w; choose another address with --address", address, err)
	}
	host, _, err := net.SplitHostPort(tcp.Addr().String())
	if err != nil {
		return nil, err
	}
	certificate, err := selfSigned(host)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for %s: %w", host, err)
	}
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})
	s := &server{url: "https://" + tcp.Addr().String(), token: rand.Text(), authority: authority}
	s.http = &http.Server{
		Handler: s.onlyWithToken(handler), TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
		ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: 30 * time.Second,
	}
	go s.http.ServeTLS(tcp, "", "") // until it is closed
	return s, nil
}

// selfSigned returns a certificate for an IP address, which is its own authority. The key is an elliptic curve's: to
// find an RSA key takes a different time in each process, and up to half a second.
func selfSigned(host string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
		IPAddresses: []net.IP{net.ParseIP(host)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// onlyWithToken answers 401 to a client without the token.
func (s *server) onlyWithToken(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1 {
			http.Error(w, "this proxy wants the token of the kubeconfig that it has written", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// config returns how to reach the proxy.
func (s *server) config() *rest.Config {
	return &rest.Config{Host: s.url, BearerToken: s.token, TLSClientConfig: rest.TLSClientConfig{CAData: s.authority}}
}
