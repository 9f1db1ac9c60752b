package claim

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// thisSystem names the kernel since its boot, and the namespace of process numbers.
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

// processStart is when a process started, in ticks since the boot, "" where that cannot
// be read; alive is false only if there is no such process, or nothing but its exit code.
func processStart(pid int) (started string, alive bool) {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return "", false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", true // of another user, and hidden
	}
	// PID (NAME) STATE ..., and the start is field 22; the name may hold anything.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 {
		return "", true
	}
	return fields[19], fields[0] != "Z" && fields[0] != "X"
}
