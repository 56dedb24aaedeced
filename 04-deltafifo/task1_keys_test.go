package deltafifo_test

// Task 1: the keys of objects, tombstones and Deltas.

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	deltafifo "client-go-workshop/04-deltafifo"
	"client-go-workshop/internal/testkit/guard"
)

func TestTask1_Key_comes_from_the_key_function(t *testing.T) {
	guard.Test(t, "For any other object KeyOf returns the key or the error of the key function. The default key "+
		"function is cache.MetaNamespaceKeyFunc.", func(t *guard.T) {
		q := deltafifo.NewDeltaFIFOWithOptions(options{})
		t.Did("KeyOf default/web")
		key, err := q.KeyOf(deploy("default/web"))
		require.NoError(t, err, "the error of KeyOf without a KeyFunction")
		require.Equal(t, "default/web", key, "the key without a KeyFunction")

		for _, mine := range []string{"mine", ""} {
			q = deltafifo.NewDeltaFIFOWithOptions(options{
				KeyFunction: func(any) (string, error) { return mine, nil },
			})
			t.Did("KeyOf default/web, with a KeyFunction that returns %q", mine)
			key, err = q.KeyOf(deploy("default/web"))
			require.NoError(t, err, "the error of KeyOf with a KeyFunction")
			require.Equal(t, mine, key, "the key with a KeyFunction")
		}

		noName := errors.New("no name")
		q = deltafifo.NewDeltaFIFOWithOptions(options{
			KeyFunction: func(any) (string, error) { return "", noName },
		})
		t.Did("KeyOf default/web, with a KeyFunction that returns an error")
		_, err = q.KeyOf(deploy("default/web"))
		require.Equal(t, noName, err, "the error of KeyOf")
	})
}

func TestTask1_Key_of_a_tombstone_is_the_one_it_carries(t *testing.T) {
	guard.Test(t, "KeyOf returns the key that a tombstone (cache.DeletedFinalStateUnknown) carries. The object "+
		"in the tombstone may be old, or nil.",
		func(t *guard.T) {
			q := deltafifo.NewDeltaFIFOWithOptions(options{})
			for _, stone := range []cache.DeletedFinalStateUnknown{
				tombstone("default/web", ""), tombstone("default/web", "default/other@1"),
				tombstone("", "default/other@1"),
			} {
				t.Did("KeyOf %s", describe(stone))
				key, err := q.KeyOf(stone)
				require.NoError(t, err, "the error of KeyOf of a %s", describe(stone))
				require.Equal(t, stone.Key, key, "the key of a %s", describe(stone))
			}
		})
}

func TestTask1_Key_of_Deltas_is_that_of_the_newest(t *testing.T) {
	guard.Test(t, "For cache.Deltas KeyOf returns the key of the newest object in them, which may be a tombstone.",
		func(t *guard.T) {
			q := deltafifo.NewDeltaFIFOWithOptions(options{})
			for _, newest := range []any{deploy("default/web@2"), tombstone("default/web", "")} {
				t.Did("KeyOf Deltas: Added default/old@1, Deleted %s", describe(newest))
				key, err := q.KeyOf(cache.Deltas{
					{Type: cache.Added, Object: deploy("default/old@1")},
					{Type: cache.Deleted, Object: newest},
				})
				require.NoError(t, err,
					"the error of KeyOf of Deltas that end with %s", describe(newest))
				require.Equal(t, "default/web", key,
					"the key of Deltas that end with %s", describe(newest))
			}
			mine := deltafifo.NewDeltaFIFOWithOptions(options{
				KeyFunction: func(any) (string, error) { return "mine", nil },
			})
			t.Did("KeyOf Deltas: Added default/web@1, with a KeyFunction")
			key, err := mine.KeyOf(cache.Deltas{{Type: cache.Added, Object: deploy("default/web@1")}})
			require.NoError(t, err, "the error of KeyOf of Deltas with a KeyFunction")
			require.Equal(t, "mine", key, "the key of Deltas with a KeyFunction")

			for _, empty := range []cache.Deltas{{}, nil} {
				t.Did("KeyOf %#v", empty)
				_, err = q.KeyOf(empty)
				t.Rule("For empty Deltas KeyOf returns a cache.KeyError that wraps " +
					"cache.ErrZeroLengthDeltasObject.")
				require.ErrorIs(t, err, cache.ErrZeroLengthDeltasObject, "the error of KeyOf of %#v", empty)
				require.ErrorAs(t, err, &cache.KeyError{}, "the error of KeyOf of %#v", empty)
			}
		})
}

func TestTask1_Object_without_a_key_is_a_KeyError(t *testing.T) {
	guard.Test(t, "If an object has no key, the error is a cache.KeyError that carries the object and wraps the "+
		"key function's error. So a log can show the object.", func(t *guard.T) {
		cause := errors.New("no name")
		q := newQueue(t, options{KeyFunction: func(obj any) (string, error) {
			if obj == nil || obj == "nameless" {
				return "", cause
			}
			return cache.MetaNamespaceKeyFunc(obj)
		}})
		for name, call := range guard.InOrder(map[string]func(any) error{"Add": q.Add, "Update": q.Update}) {
			for _, obj := range []any{"nameless", nil} {
				err := call(obj)
				require.ErrorAs(t, err, &cache.KeyError{}, "the error of %s", name)
				require.Equal(t, obj, keyErrorOf(err).Obj, "the object in the error of %s", name)
				require.ErrorIs(t, err, cause, "the error of %s", name)
			}
		}
		t.Rule("A change that fails leaves nothing in the queue.")
		require.Empty(t, q.drain(), "all popped deltas")
		requireEmptyKeyAccepted(t, newQueue(t, options{KeyFunction: emptyKey}))
	})
}

func emptyKey(any) (string, error) { return "", nil }

// requireEmptyKeyAccepted requires that q, whose key function is emptyKey, takes an object.
func requireEmptyKeyAccepted(t *guard.T, q recordedQueue) {
	t.Helper()
	t.Story(8)
	t.Rule("An object has no key if the key function returns an error. An empty key is a key.")
	require.NoError(t, q.Add(deploy("default/web@1")), "the error of Add, with a KeyFunction that returns an empty key")
	require.Equal(t, "default/web: Added @1", q.pop(), "the popped deltas")
}

func TestTask1_KeyError_of_the_key_function_is_wrapped_too(t *testing.T) {
	guard.Test(t, "If an object has no key, the error is a cache.KeyError that carries the object and wraps the "+
		"key function's error. A key function that makes a key of parts may return a KeyError of a part.",
		func(t *guard.T) {
			requireKeyErrors(t, func(keys cache.KeyFunc) map[string]func(any) error {
				q := newQueue(t, options{KeyFunction: keys})
				return map[string]func(any) error{"Add": q.Add, "Update": q.Update}
			})
		})
}

// requireKeyErrors requires that the error of each call carries the call's object, and wraps the key function's error.
func requireKeyErrors(t *guard.T, calls func(keys cache.KeyFunc) map[string]func(any) error) {
	t.Helper()
	for _, cause := range []error{
		cache.KeyError{Obj: "its owner", Err: errors.New("no name")},
		fmt.Errorf("its owner: %w", errors.New("no name")),
	} {
		for name, call := range calls(func(any) (string, error) { return "", cause }) {
			t.Story(8)
			t.Did("%s nameless; the key function's error is a %T", name, cause)
			err := call("nameless")
			require.ErrorAs(t, err, &cache.KeyError{}, "the error of %s", name)
			require.Equal(t, any("nameless"), keyErrorOf(err).Obj, "the object in the error of %s", name)
			require.ErrorIs(t, err, cause, "the error of %s", name)
		}
	}
}

func keyErrorOf(err error) (k cache.KeyError) {
	errors.As(err, &k)
	return k
}

func TestTask1_Equal_names_in_two_namespaces_are_two_keys(t *testing.T) {
	guard.Test(t, "Every key comes from the key function. Objects of the same name in two namespaces have two "+
		"keys.",
		func(t *guard.T) {
			q := newQueue(t, options{})
			require.NoError(t, q.Add(deploy("blue/web@1")), "the error of Add")
			require.NoError(t, q.Add(deploy("green/web@2")), "the error of Add")
			require.NoError(t, q.Update(deploy("blue/web@3")), "the error of Update")
			require.Equal(t, "blue/web: Added @1, Updated @3", q.pop(), "deltas of the 1st Pop")
			require.Equal(t, "green/web: Added @2", q.pop(), "deltas of the 2nd Pop")
		})
}
