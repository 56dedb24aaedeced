package ownwrites

// This design compares with big integers. It is correct because a number of any length fits, and because it accepts the
// canonical form of a number only.

import (
	"fmt"
	"math/big"
)

type InvalidVersionError struct{ Version string }

func (e InvalidVersionError) Error() string {
	return fmt.Sprintf("%q is not a resource version", e.Version)
}

func CompareResourceVersion(a, b string) (int, error) {
	x, err := number(a)
	if err != nil {
		return 0, err
	}
	y, err := number(b)
	if err != nil {
		return 0, err
	}
	return x.Cmp(y), nil
}

func number(version string) (*big.Int, error) {
	n, ok := new(big.Int).SetString(version, 10)
	if !ok || n.Sign() <= 0 || n.String() != version {
		return nil, InvalidVersionError{version}
	}
	return n, nil
}
