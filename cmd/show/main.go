// Command show is `go tool workshop show`: the pipeline of an informer and its controller, live in the browser.
//
//		recorder ─▶ log ─▶ state ─▶ message ─▶ page
//		    ▲                                    │
//		    └── gate, API server ◀── order ──────┘
//
//	  - main.go, this one: the command.
//	  - machine.go: the controller of chapter 07 with a recorder, on an API server in the process or on a cluster.
//	    yours.go adds the learner's layers.
//	  - observe.go: client-go's own informer on any resource of a cluster.
//	  - session.go: what the pages are shown. actions.go has what they can ask for, tours.go the guided tours.
//	  - tours.json: the tours, and what each chapter says about its layer.
//	  - server.go: HTTP on loopback. page/ has the page.
//
// The state is made in Go, by internal/testkit/pipeline. The page only draws it.
//
// Left out: accounts and encryption, because nothing leaves the machine.
package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"client-go-workshop/internal/runner/usage"
	"client-go-workshop/internal/testkit/pdbapp"
	"client-go-workshop/internal/testkit/pipeline"
	"client-go-workshop/internal/testkit/recorder"
	"client-go-workshop/internal/testkit/todo"
)

// help is a file, so that `go tool workshop show --help` prints it without this program.
//
//go:embed help.txt
var help string

type options struct {
	layers, kubeconfig, resource, listen, tour string
	noOpen                                     bool
	recordings                                 []string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(help)
	case err != nil:
		fmt.Fprintln(os.Stderr, "workshop:", err)
		os.Exit(usage.ExitCode(err))
	}
}

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("show", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.layers, "layers", "solutions", "")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "")
	flags.StringVar(&o.resource, "resource", "", "")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "")
	flags.StringVar(&o.tour, "tour", "", "")
	flags.BoolVar(&o.noOpen, "no-open", false, "")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return o, err
	} else if err != nil {
		return o, fmt.Errorf("%w. All flags: go tool workshop show --help", err)
	}
	o.recordings = flags.Args()
	if _, _, err := net.SplitHostPort(o.listen); err != nil {
		return o, fmt.Errorf("--listen %s: %w", o.listen, err)
	}
	switch {
	case !loopback(o.listen):
		return o, fmt.Errorf("--listen %s: only an address of loopback, such as 127.0.0.1:7200", o.listen)
	case flags.NArg() > 2:
		return o, fmt.Errorf("unexpected argument %q: show opens two recordings at most", flags.Arg(2))
	case o.resource != "" && o.kubeconfig == "":
		return o, errors.New("--resource needs --kubeconfig: it is for a cluster")
	case len(o.recordings) > 0 && o.tour != "":
		return o, errors.New("a recording has no tour; remove --tour")
	case len(o.recordings) > 0 && o.kubeconfig != "":
		return o, errors.New("a recording has its own pipeline; remove --kubeconfig")
	}
	return o, nil
}

// run shows the pipeline until ctx ends.
func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return usage.Wrap(err)
	}
	klog.SetLogger(klog.New(nil)) // the page has the errors
	session, err := newSession(ctx, o)
	if err != nil {
		return err
	}
	defer session.stop()
	if session.machine != nil && session.machine.api != nil && session.tour == nil {
		session.machine.populate()
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return fmt.Errorf("serve on %s: %w", o.listen, err)
	}
	server := newServer(session, listener.Addr().String())
	fmt.Fprintf(out, "%s\n\n  %s\n\nOnly this machine can open it. Ctrl-C ends it.\n", session.title, server.url())
	if !o.noOpen {
		openBrowser(server.url())
	}
	return serve(ctx, listener, server)
}

// current is the recorder that was made last. It receives the errors of client-go, whose handlers are for the whole
// program.
var current atomic.Pointer[recorder.Recorder]

func init() {
	report := func(ctx context.Context, err error, text string, args ...any) {
		if rec := current.Load(); rec != nil {
			rec.Error(ctx, err, text, args...)
		}
	}
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{report}
}

func newRecorder() *recorder.Recorder {
	rec := recorder.New()
	current.Store(rec)
	return rec
}

// titles are those of the sets of layers.
var titles = map[string]string{"solutions": "The controller on our solutions", "yours": "The controller on your layers",
	"client-go": "The controller on client-go's layers"}

// newSession makes what is shown.
func newSession(ctx context.Context, o options) (*session, error) {
	if len(o.recordings) > 0 {
		return openRecordings(o.recordings)
	}
	s := &session{}
	config, err := clusterConfig(o.kubeconfig)
	if err != nil {
		return nil, err
	}
	if o.resource != "" {
		return s, s.observe(ctx, config, o.resource)
	}
	c, err := pdbapp.Choose(o.layers, parts)
	if err != nil {
		return nil, usage.Wrap(fmt.Errorf("--layers: %w", err))
	}
	s.title = cmp.Or(titles[o.layers], "The controller on the layers "+o.layers)
	if config != nil {
		s.title += ", on the cluster " + config.Host
	}
	var told sync.Once
	var started atomic.Bool
	todo.OnReach(func(missing todo.NotWritten) bool {
		wayOut := "go tool workshop show --layers " + without(o.layers, missing.Layer())
		told.Do(func() {
			fmt.Fprintln(os.Stderr, "workshop:", pdbapp.Unwritten(missing, wayOut))
		})
		if !started.Load() {
			os.Exit(1)
		}
		current.Load().Unwritten(missing, wayOut)
		return true
	})
	s.start = func() (*machine, error) { return newMachine(ctx, c, config) }
	if err := s.restart(); err != nil {
		return nil, err
	}
	started.Store(true)
	if o.tour != "" {
		err = usage.Wrap(s.doTour(order{Action: "tour start", Name: o.tour}))
	}
	return s, err
}

// without returns a choice of layers with one layer of the solutions. An empty layer stands for the informer and the
// controller.
func without(choice, layer string) string {
	for _, name := range strings.Fields(cmp.Or(layer, "informer controller")) {
		choice = strings.ReplaceAll(choice, ","+name+"=yours", "") + "," + name + "=solutions"
	}
	return choice
}

// openRecordings opens one or two files with one or two recordings in all.
func openRecordings(paths []string) (*session, error) {
	var all []pipeline.Recording
	for _, path := range paths {
		file, err := openRecording(path)
		if err != nil {
			return nil, fmt.Errorf("open the recording: %w", err)
		}
		defer file.Close()
		read, err := pipeline.ReadRecordings(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, read...)
	}
	s := &session{title: "Recording: " + all[0].Title, runs: all}
	if len(all) > 1 {
		s.differs = pipeline.Compare(all[0].Log, all[1].Log, all[0].Wrong.Key)
	}
	return s, nil
}

// openRecording opens a file, or the address at which package observe serves a recording.
func openRecording(path string) (io.ReadCloser, error) {
	if strings.HasPrefix(path, "http://") || strings.HasPrefix(path, "https://") {
		client := http.Client{Timeout: time.Minute}
		answer, err := client.Get(path)
		if err == nil && answer.StatusCode != http.StatusOK {
			answer.Body.Close()
			err = fmt.Errorf("%s answers %s", path, answer.Status)
		}
		if err != nil {
			return nil, err
		}
		return answer.Body, nil
	}
	file, err := os.Open(path)
	if root := os.Getenv("WORKSHOP_ROOT"); os.IsNotExist(err) && root != "" && !filepath.IsAbs(path) {
		return os.Open(filepath.Join(root, path)) // a failure names the path from the workshop's root
	}
	return file, err
}

// clusterConfig returns the configuration of a kubeconfig file, or nil for no file.
func clusterConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		return nil, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig %s: %w", kubeconfig, err)
	}
	config.QPS, config.Burst = 50, 100
	return rest.AddUserAgent(config, "workshop-show"), nil
}

// openBrowser opens the address, if the system has a command for that. The address is printed as well.
func openBrowser(url string) {
	command := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open"}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	cmd := exec.Command(command[0], append(command[1:], url)...)
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }()
	}
}
