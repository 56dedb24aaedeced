package failure

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlace_travels_as_an_attribute(t *testing.T) {
	for _, want := range []Place{
		{Call: "(*Queue).Get", At: Position{File: "queue.go", Line: 41}},
		{Call: "(*Store).Add", At: Position{File: "a.go", Line: 1}, State: "sync.Mutex.Lock"},
	} {
		var got *Place
		want.Emit(func(key, value string) {
			require.NotContains(t, value, " ")
			var err error
			got, err = PlaceOf(key, value)
			require.NoError(t, err)
		})
		require.Equal(t, &want, got)
	}
	p := Place{Call: "(*Queue).Get", At: Position{File: "queue.go", Line: 41}}
	require.Equal(t, "(*Queue).Get at queue.go:41", p.String())
	p.State = "select"
	require.Equal(t, "(*Queue).Get at queue.go:41, waiting in select", p.String())
	other, err := PlaceOf(lastPiece, "x")
	require.NoError(t, err)
	require.Nil(t, other, "another attribute")
	for _, broken := range []string{"!", "bm90IEpTT04="} {
		_, err := PlaceOf(placeKey, broken)
		require.ErrorContains(t, err, "decode where a test is")
	}
}
