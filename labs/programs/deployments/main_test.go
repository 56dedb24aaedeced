package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"client-go-workshop/internal/testkit/fakeapi"
	_ "client-go-workshop/internal/testkit/fakeapi/strategic"
	"client-go-workshop/labs/programs/internal/shown"
)

// output can be written to and read at the same time.
type output struct {
	lock sync.Mutex
	text strings.Builder
}

func (o *output) Write(b []byte) (int, error) {
	o.lock.Lock()
	defer o.lock.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.lock.Lock()
	defer o.lock.Unlock()
	return o.text.String()
}

// start runs the program on a server. End ends the program, and returns its error.
func start(ctx context.Context, t *testing.T, api *fakeapi.Server) (out *output, end func() error) {
	client, err := kubernetes.NewForConfigAndClient(api.Config(), api.Client())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	out = &output{}
	go func() { ended <- run(ctx, client, out) }()
	return out, func() error {
		cancel()
		return <-ended
	}
}

func TestRun_prints_what_the_page_shows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.Start(t)
		api.Create(web(3))
		out, end := start(t.Context(), t, api)
		time.Sleep(90 * time.Second) // a resync
		api.Update(web(5))
		synctest.Wait()
		api.Delete(web(5))
		synctest.Wait()
		require.NoError(t, end())
		shown.Require(t, "An informer of Deployments", out.String())
	})
}

func TestRun_ends_while_it_waits_for_the_first_list(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.Start(t)
		api.Down()
		_, end := start(t.Context(), t, api)
		synctest.Wait()
		require.ErrorIs(t, end(), context.Canceled)
	})
}

// The test has the messages that docs/learn/access.md shows.
func TestRun_without_rights_waits_and_logs_until_it_gets_them(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func(handlers []utilruntime.ErrorHandler) { utilruntime.ErrorHandlers = handlers }(utilruntime.ErrorHandlers)
		utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1] // the log, without the pause that real time measures
		log := &output{}
		logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log)))
		api := fakeapi.Start(t)
		api.Create(web(3))
		api.Script("watch", fakeapi.Times(3, forbidden("watch"))...)
		api.Script("list", fakeapi.Times(3, forbidden("list"))...)
		out, end := start(klog.NewContext(t.Context(), logger), t, api)
		synctest.Wait()
		access, err := os.ReadFile("../../../docs/learn/access.md")
		require.NoError(t, err)
		_, logged, _ := strings.Cut(log.String(), "] ")
		logged, _, _ = strings.Cut(logged, " logger=")
		require.Contains(t, logged, `Failed to watch`)
		require.Contains(t, string(access), logged+"\n", "docs/learn/access.md shows the log")
		require.Empty(t, out.String(), "without the first list no handler is called, and the program waits")

		time.Sleep(time.Minute) // three attempts, and then it has the rights
		require.Equal(t, 3, strings.Count(log.String(), "Failed to watch"))
		require.Contains(t, out.String(), "lister   default/web with 3 replicas\n")
		require.NoError(t, end())
	})
}

// forbidden answers as a real server answers a service account without a role.
func forbidden(verb string) fakeapi.Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		err := apierrors.NewForbidden(appsv1.Resource("deployments"), "", fmt.Errorf("User %q cannot %s resource %q in API "+
			"group %q at the cluster scope", "system:serviceaccount:default:reader", verb, "deployments", "apps"))
		err.ErrStatus.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(err.ErrStatus)
	}
}

func web(replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1.29"}}},
			},
		},
	}
}
