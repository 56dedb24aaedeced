package sample_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"client-go-workshop/internal/guard"
	sample "client-go-workshop/internal/guard/testdata/05-sample"
)

func TestTask2_Passes(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		s := sample.New()
		t.Go(func() { s.Set("a", "b") })
	})
}

func TestTask2_Equal(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		t.Did("Add %s", "default/a {app: web}")
		require.Equal(t, []string{}, []string{"default/a"}, "an object is found under the values it has now (#109115)")
	})
}

func TestTask2_Hole(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		sample.New().Add("a", "b")
	})
}

func TestTask2_Hole_in_the_background(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		s := sample.New()
		s.Start()
		require.Equal(t, 1, 2, "secondary")
	})
}

func TestTask1_Panic(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		sample.New().SetNil("a", "b")
	})
}

func TestTask1_Never(t *testing.T) {
	guard.Test(t, func(t *guard.T) {
		q := sample.NewQueue()
		q.Run()
		q.Get()
	})
}
