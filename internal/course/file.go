package course

// This file reads what a learner may have put into a chapter's folder.

import (
	"fmt"
	"io/fs"
	"os"
)

// MaxFile is the largest file, in bytes, that ReadFile reads.
const MaxFile = 16 << 20

// ReadFile reads a regular file, or what a link to one leads to. A named pipe, a device and a file of more than MaxFile
// bytes are errors, because reading them might never end. A file that does not exist is fs.ErrNotExist.
func ReadFile(path string) ([]byte, error) {
	if err := CheckFile(path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// CheckFile returns an error if ReadFile does not read the file at path.
func CheckFile(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	is := ""
	switch mode := info.Mode(); {
	case mode.IsRegular() && info.Size() > MaxFile:
		is = fmt.Sprintf("%d MiB large", info.Size()>>20)
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		is = "a folder"
	case mode&fs.ModeNamedPipe != 0:
		is = "a named pipe"
	case mode&fs.ModeDevice != 0:
		is = "a device"
	default:
		is = "not a regular file"
	}
	return fmt.Errorf("%s is %s, so it is not read; remove it, or give it a name that does not end in .go or .json",
		path, is)
}
