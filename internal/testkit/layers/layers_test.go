package layers_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	"client-go-workshop/internal/testkit/layers"
	"client-go-workshop/internal/testkit/layers/clientgo"
	"client-go-workshop/internal/testkit/layers/solutions"
	todaysinformer "client-go-workshop/labs/solutions/todays-informer"
)

var sets = map[string]layers.Layers{"solutions": solutions.Layers, "client-go": clientgo.Layers}

func TestChoose_mixes_sets(t *testing.T) {
	l, err := layers.Choose("solutions,reflector=client-go,workqueue=client-go", sets)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"client": "solutions", "reflector": "client-go", "deltafifo": "solutions",
		"indexer": "solutions", "workqueue": "client-go"}, l.From)
	require.NotNil(t, l.NewClient)
}

func TestChoose_puts_a_RealFIFO_in_any_set(t *testing.T) {
	for choice, from := range map[string]string{
		"solutions,deltafifo=real":                     "solutions (RealFIFO)",
		"client-go,deltafifo=real,indexer=solutions":   "client-go (RealFIFO)",
		"solutions,deltafifo=client-go,deltafifo=real": "client-go (RealFIFO)",
	} {
		l, err := layers.Choose(choice, sets)
		require.NoError(t, err, choice)
		require.Equal(t, from, l.From["deltafifo"], choice)
		require.NotNil(t, l.Pop, choice)
		require.IsType(t, &todaysinformer.BatchQueue{}, l.NewDeltaFIFO(cache.DeltaFIFOOptions{}), choice)
	}
	l, err := layers.Choose("solutions", sets)
	require.NoError(t, err)
	require.Nil(t, l.Pop)
}

func TestChoose_says_what_it_does_not_understand(t *testing.T) {
	for choice, says := range map[string]string{
		"theirs":                    `"theirs"; it is one of solutions, client-go, or with -tags yours also yours`,
		"solutions,reflector=mine":  `there is no set "mine"`,
		"solutions,queue=solutions": `there is no layer "queue"; they are client, reflector, deltafifo, indexer, workqueue`,
		"reflector=solutions":       `must begin with the set for all that is not said: "solutions,reflector=solutions"`,
		"solutions,client-go":       "which of client, reflector, deltafifo, indexer, workqueue is to be from client-go?",
		"":                          `there is no set ""`,
	} {
		_, err := layers.Choose(choice, sets)
		require.ErrorContains(t, err, says, "%q", choice)
	}
}

func TestYours_is_solutions_but_for_the_imports(t *testing.T) {
	body := func(path string) string {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		_, rest, found := strings.Cut(string(text), "// Layers is the set.")
		require.True(t, found)
		return rest
	}
	require.Equal(t, body("solutions/solutions.go"), body("yours/yours.go"))
}
