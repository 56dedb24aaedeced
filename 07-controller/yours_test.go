//go:build yours

package controller_test

// With -tags yours the chapters below can be those that you have written. All of them have to compile then.

import "client-go-workshop/internal/testkit/layers/yours"

func init() { sets["yours"] = yours.Layers }
