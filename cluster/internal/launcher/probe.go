// Probes: the question that a program is asked to learn if it is well.

package launcher

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// Probe is an HTTPS GET that answers 200 when a component is well. The zero
// Probe stands for a program that has no such address: alive is well.
type Probe struct {
	URL         string `json:"url,omitempty"`
	Authority   string `json:"authority,omitempty"`   // file: who signed the server's certificate
	Certificate string `json:"certificate,omitempty"` // file: who asks
	Key         string `json:"key,omitempty"`         // file
}

// Client makes an HTTP client that checks the server's certificate and shows
// our own. Every request goes over a new connection, as a fresh program needs.
func (p Probe) Client() (*http.Client, error) {
	authority, err := os.ReadFile(p.Authority)
	if err != nil {
		return nil, fmt.Errorf("reading a certificate authority: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("reading a certificate authority: %s holds no certificate", p.Authority)
	}
	own, err := tls.LoadX509KeyPair(p.Certificate, p.Key)
	if err != nil {
		return nil, fmt.Errorf("reading a client certificate: %w", err)
	}
	return &http.Client{
		Timeout: 5 * time.Second,
		Transport: &http.Transport{
			// No Proxy: these addresses are on this machine.
			TLSClientConfig:   &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12},
			DisableKeepAlives: true,
		},
	}, nil
}

// Ask returns nil if the component is well, or else why it seems not to be.
func (p Probe) Ask(ctx context.Context) error {
	if p.URL == "" {
		return nil
	}
	client, err := p.Client()
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(response.Body, 16<<10))
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s: %s", p.URL, response.Status, unwell(string(body)))
	}
	return nil
}

// unwell picks the failed checks out of a health report, which has one line
// for each check and a "[-]" before those that failed.
func unwell(report string) string {
	var failed []string
	for line := range strings.Lines(report) {
		if strings.HasPrefix(line, "[-]") {
			failed = append(failed, strings.TrimSpace(strings.TrimPrefix(line, "[-]")))
		}
	}
	if len(failed) == 0 {
		first, _, _ := strings.Cut(strings.TrimSpace(report), "\n")
		return first
	}
	return strings.Join(failed, ", ")
}
