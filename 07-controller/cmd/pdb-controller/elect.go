//go:build elect

package main

// With the tag elect, only one of several instances works: go build -tags elect. The images are built so.

import "client-go-workshop/internal/testkit/pdbapp/election"

func init() { elect = election.Run }
