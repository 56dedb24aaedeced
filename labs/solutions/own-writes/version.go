package ownwrites

// This file compares versions.

import (
	"fmt"
	"strings"
)

// InvalidVersionError reports a version that cannot be compared.
type InvalidVersionError struct{ Version string }

func (e InvalidVersionError) Error() string {
	return fmt.Sprintf("the resource version %q cannot be compared", e.Version)
}

// CompareResourceVersion returns -1 if a is older than b, 0 if they are the same, and 1 if a is newer. A version may
// have more digits than any integer type. A version that is not a positive decimal number without leading zeros is an
// error that names it. The two must be versions of the same resource on the same server.
//
// It mirrors resourceversion.CompareResourceVersion of k8s.io/apimachinery.
//
//workshop:task 1
func CompareResourceVersion(a, b string) (int, error) {
	for _, version := range []string{a, b} {
		if !isNumber(version) {
			return 0, InvalidVersionError{version}
		}
	}
	if len(a) != len(b) {
		if len(a) < len(b) {
			return -1, nil
		}
		return 1, nil
	}
	return strings.Compare(a, b), nil
}

// isNumber reports whether a version is a positive decimal number without leading zeros.
//
//workshop:omit
func isNumber(version string) bool {
	return version != "" && version[0] != '0' && strings.Trim(version, "0123456789") == ""
}
