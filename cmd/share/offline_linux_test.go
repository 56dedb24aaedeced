package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// startInOwnNetwork starts a command in its own network, with its own mounts. Outside of a user namespace only root may
// do that. Some systems forbid user namespaces.
func startInOwnNetwork(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	return cmd.Start()
}

// putAside makes an empty folder appear where dir is, and dir appear at the path elsewhere, for this process and its
// children.
func putAside(dir, elsewhere, empty string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts to ourselves: %w", err)
	}
	if err := unix.Mount(dir, elsewhere, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mount %s as %s: %w", dir, elsewhere, err)
	}
	if err := unix.Mount(empty, dir, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s as %s: %w", empty, dir, err)
	}
	return nil
}

// putBack ends what putAside has made appear at elsewhere.
func putBack(elsewhere string) { _ = unix.Unmount(elsewhere, unix.MNT_DETACH) }

// loopbackUp switches the loopback interface on: in a new network it is off.
func loopbackUp() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("make a socket to switch lo on: %w", err)
	}
	defer unix.Close(socket)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("name the interface lo: %w", err)
	}
	lo.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("switch lo on: %w", err)
	}
	return nil
}
