package main

import "golang.org/x/sys/windows"

// freeDisk returns how many bytes may be written below dir.
func freeDisk(dir string) (free uint64, err error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	err = windows.GetDiskFreeSpaceEx(name, &free, nil, nil)
	return free, err
}
