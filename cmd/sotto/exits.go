package main

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"sotto/agent"
	"sotto/cmd/sotto/cli"
	"sotto/cmd/sotto/manual"
	"sotto/config"
	"sotto/data"
	"sotto/node"
	"sotto/node/checkpoint"
	"sotto/node/keyfile"
	"sotto/node/roster"
	"sotto/privacy"
	"sotto/privacy/account"
	"sotto/privacy/audit"
	"sotto/privacy/ledger"
)

// Exit codes.
const (
	exitDone     = 0
	exitFailed   = 1
	exitUsage    = 2 // a command line or file that cannot be used
	exitPrivacy  = 3 // a guarantee would be exceeded, hollow or unproved; or stored state does not fit
	exitData     = 4 // data missing or altered
	exitStorage  = 5 // a write failed: no room, most often
	exitStopped  = 6 // sotto status: no process takes part
	exitNotReady = 7 // sotto status: a process takes part and does not go on
)

// exits say of each code whether a daemon that ends with it is worth starting again.
// docs/upkeep.md and deploy/sotto-node.service say the same.
var exits = []struct {
	code    int
	restart bool
	what    string
}{
	{exitDone, false, "finished, or stopped by SIGTERM or SIGINT"},
	{exitFailed, true, "anything else"},
	{exitUsage, false, "a command line or file that cannot be used"},
	{exitPrivacy, false, "refused for privacy's sake, or stored state does not fit: needs a person"},
	{exitData, false, "data missing or altered"},
	{exitStorage, true, "a write failed: no room, most often"},
}

// exitPages are the codes as manual pages list them.
func exitPages() (codes []manual.Exit) {
	for _, e := range exits {
		codes = append(codes, manual.Exit{Code: e.code, What: e.what})
	}
	return codes
}

// codeError says nothing more than what was printed, and has a code of its own.
type codeError struct {
	error
	code int
}

// exitCode maps errors to exit codes; it is the only place that does.
func exitCode(err error) int {
	var (
		usage cli.UsageError
		bad   *config.Error
		own   codeError
		stop  stoppedError
	)
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &own):
		return own.code
	case isAny(err, privacy.ErrRefused, audit.ErrViolated, account.ErrUnsupported, account.ErrInfeasible,
		account.ErrDeltaTooSmall, account.ErrExhausted, agent.ErrUnanswered):
		return exitPrivacy
	case isAny(err, ledger.ErrPoisoned, syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG):
		return exitStorage
	case isAny(err, ledger.ErrCorrupt, ledger.ErrVersion, ledger.ErrDataset, ledger.ErrRollback,
		ledger.ErrKey, ledger.ErrClaim, ledger.ErrDurability, roster.ErrUnsigned, checkpoint.ErrState,
		node.ErrBehind, node.ErrClone, node.ErrPassed, node.ErrRemoved, node.ErrDiverged):
		return exitPrivacy
	case isAny(err, data.ErrMissing, data.ErrAltered):
		return exitData
	case errors.Is(err, keyfile.ErrPassphrase), isAny(err, node.ErrTerms, node.ErrEarly),
		errors.As(err, &usage), errors.As(err, &bad), unusable(err):
		return exitUsage
	case errors.As(err, &stop):
		return stop.code()
	}
	return exitFailed
}

// unusable reports whether a file or folder is not there, is the other of the two, or may
// not be read or written. Trying again helps nobody.
func unusable(err error) bool {
	var path *fs.PathError
	var link *os.LinkError
	return (errors.As(err, &path) || errors.As(err, &link)) && isAny(err, fs.ErrNotExist, fs.ErrPermission,
		syscall.EROFS, syscall.EISDIR, syscall.ENOTDIR)
}

func isAny(err error, targets ...error) bool {
	for _, t := range targets {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}
