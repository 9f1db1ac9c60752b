package claim

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// thisSystem identifies the kernel since its boot, and the PID namespace.
func thisSystem() (boot, namespace string) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", ""
	}
	if namespace, err = os.Readlink("/proc/self/ns/pid"); err != nil {
		return "", ""
	}
	return strings.TrimSpace(string(id)), namespace
}

// processStart returns the start of a process in ticks since the boot, "" if that cannot be read. alive is
// false only if the process does not exist or is a zombie.
func processStart(pid int) (started string, alive bool) {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return "", false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", true // hidden: a process of another user
	}
	// PID (NAME) STATE ..., with the start in field 22; NAME may contain anything.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 {
		return "", true
	}
	return fields[19], fields[0] != "Z" && fields[0] != "X"
}
