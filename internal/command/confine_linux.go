package command

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights that change files, by the version of the kernel's interface that
// knows them first (Documentation/userspace-api/landlock.rst).
const (
	writeV1 = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	writeV2 = writeV1 | unix.LANDLOCK_ACCESS_FS_REFER
	writeV3 = writeV2 | unix.LANDLOCK_ACCESS_FS_TRUNCATE

	truncateVersion = 3
	scopeVersion    = 6
)

// devices may be written wherever the program is confined to: they keep
// nothing.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// landlockVersion asks the kernel which version it has; zero for none.
func landlockVersion() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

// writeAccess returns what a kernel can confine, and what it cannot in words.
func writeAccess(version int) (attr unix.LandlockRulesetAttr, gaps string) {
	attr.Handled_access_fs = writeV1
	switch {
	case version >= truncateVersion:
		attr.Handled_access_fs = writeV3
	case version >= 2:
		attr.Handled_access_fs = writeV2
	}
	if version < truncateVersion {
		gaps = " This kernel cannot keep it from emptying files elsewhere."
	}
	if version >= scopeVersion {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	return attr, gaps
}

func expect(writable []string) Confinement { return expectWith(landlockVersion(), writable) }

func expectWith(version int, writable []string) Confinement {
	switch {
	case writable == nil:
		return Confinement{Text: "Not confined: it was switched off."}
	case version < 1:
		return Confinement{Text: "Not confined: this kernel has no Landlock, so the program can write wherever the user can."}
	}
	_, gaps := writeAccess(version)
	return Confinement{Enforced: true, Text: "Confined: it can write only below " + strings.Join(writable, " and ") + "." + gaps}
}

// confine keeps the calling thread, and what it starts, from changing files
// elsewhere. It cannot be taken back, so the thread must not be used for
// anything else. Where the kernel could confine and something else is wrong,
// that is an error: nothing runs with less than what was said of it.
func confine(version int, writable []string) (Confinement, error) {
	c := expectWith(version, writable)
	if !c.Enforced {
		return c, nil
	}
	attr, _ := writeAccess(version)
	if err := restrict(attr, writable); err != nil {
		return Confinement{}, fmt.Errorf("confine the program: %w", err)
	}
	return c, nil
}

func restrict(attr unix.LandlockRulesetAttr, writable []string) error {
	// Kernels take a longer structure than they know as long as the rest is
	// zero; the first three members are all that is used.
	size := unsafe.Offsetof(attr.Scoped) + unsafe.Sizeof(attr.Scoped)
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return fmt.Errorf("making the Landlock rules: %w", errno)
	}
	ruleset := int(fd)
	defer unix.Close(ruleset)
	for _, dir := range writable {
		if err := allow(ruleset, dir, attr.Handled_access_fs); err != nil {
			return fmt.Errorf("allowing %s: %w", dir, err)
		}
	}
	for _, device := range devices {
		file := attr.Handled_access_fs & (unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE)
		if err := allow(ruleset, device, file); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("allowing %s: %w", device, err)
		}
	}
	// Without it only root may confine; it also keeps set-user-ID programs from
	// gaining rights. Both calls are about this thread only.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up new privileges: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); errno != 0 {
		return fmt.Errorf("applying the Landlock rules: %w", errno)
	}
	return nil
}

func allow(ruleset int, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	attr := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
