// A stand-in for every program of the control plane. It takes their flags,
// answers on their port with their certificates, and misbehaves when a file
// beside it, called like it plus ".does", says so:
//
//	exit    says something and ends with exit code 3
//	taken   ends as if another program had taken its port;
//	        "taken once" does so the first time only
//	full    ends as if the disk were full
//	hang    runs, but never answers
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	does, _ := os.ReadFile(os.Args[0] + ".does")
	fmt.Println("this is", name)
	switch string(does) {
	case "exit":
		fmt.Println("my last words")
		os.Exit(3)
	case "taken once":
		_ = os.Remove(os.Args[0] + ".does")
		fallthrough
	case "taken":
		fmt.Println("listen tcp 127.0.0.1:1: bind: address already in use")
		os.Exit(1)
	case "full":
		fmt.Println("write member/snap/db: no space left on device")
		os.Exit(1)
	case "hang":
		rest()
	}
	switch name {
	case "kwok":
		// The API server's stand-in looks for this file: see nodes.
		if err := os.WriteFile(filepath.Join(os.Getenv("KWOK_WORKDIR"), "plays"), nil, 0o600); err != nil {
			panic(err)
		}
		rest()
	case "kubectl":
		fmt.Println("KUBECONFIG", os.Getenv("KUBECONFIG"))
		fmt.Println("ARGS", strings.Join(os.Args[1:], "|"))
		os.Exit(7)
	case "etcd":
		if err := os.MkdirAll(flag("data-dir"), 0o700); err != nil {
			panic(err)
		}
		client, err := url.Parse(flag("listen-client-urls"))
		if err != nil {
			panic(err)
		}
		serve(client.Host, flag("cert-file"), flag("key-file"), flag("trusted-ca-file"))
	default:
		serve(flag("bind-address")+":"+flag("secure-port"),
			flag("tls-cert-file"), flag("tls-private-key-file"), flag("client-ca-file"))
	}
}

// rest waits for a signal to end it. (An empty select would be a deadlock.)
func rest() {
	for {
		time.Sleep(time.Hour)
	}
}

// flag returns the value of --name=value.
func flag(name string) string {
	for _, arg := range os.Args[1:] {
		if value, found := strings.CutPrefix(arg, "--"+name+"="); found {
			return value
		}
	}
	panic("no flag --" + name)
}

// serve lets in only clients with a certificate of the given authority, so
// that the test sees whether the launcher has given everyone the right one.
func serve(address, certificate, key, authority string) {
	ca, err := os.ReadFile(authority)
	if err != nil {
		panic(err)
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(ca)
	server := http.Server{
		Addr:      address,
		TLSConfig: &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients},
		Handler:   nodes(filepath.Join(filepath.Dir(authority), "..", "kwok", "plays")),
	}
	panic(server.ListenAndServeTLS(certificate, key))
}

// nodes answers every question with a list of one node, which is Ready if kwok
// plays; a PATCH, which marks it as not ready, makes it wait for kwok again.
func nodes(plays string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPatch {
			_ = os.Remove(plays)
		}
		ready := "False"
		if _, err := os.Stat(plays); err == nil {
			ready = "True"
		}
		fmt.Fprintf(w, `{"items": [{"metadata": {"name": "node-1"}, "status": {"conditions": [{"type": "Ready", "status": %q}]}}]}`, ready)
	})
}
