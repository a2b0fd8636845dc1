package ledger

import "errors"

// What a ledger refuses. Every error of this package that concerns the state of a durable
// ledger wraps one of these, or account.ErrExhausted; those about files name the place.
var (
	// ErrClosed: the ledger was closed.
	ErrClosed = errors.New("ledger: closed")
	// ErrCorrupt: bytes were changed, lost or reordered. Nothing is repaired.
	ErrCorrupt = errors.New("ledger: corrupt")
	// ErrLocked: another process, or another File of this one, has the ledger open.
	ErrLocked = errors.New("ledger: locked")
	// ErrPoisoned: a write or a sync failed, so what is on the disk is unknown. Every
	// later call fails; open the ledger again to learn what was kept.
	ErrPoisoned = errors.New("ledger: poisoned by a failed write")
	// ErrVersion: the ledger was written in a newer format.
	ErrVersion = errors.New("ledger: newer format version")
	// ErrDataset: the ledger belongs to another data set, or to several, or to one whose
	// fingerprint is missing.
	ErrDataset = errors.New("ledger: wrong data set")
	// ErrRollback: the ledger lacks records that the caller knows to have existed, or
	// holds others in their place.
	ErrRollback = errors.New("ledger: rolled back")
	// ErrKey: the ledger belongs to another owner key, or has got another one since, or a
	// fingerprint was made with another secret.
	ErrKey = errors.New("ledger: wrong key")
	// ErrClaim: an epsilon that was recorded is not the one that the recorded charges
	// cost.
	ErrClaim = errors.New("ledger: recorded epsilon does not follow from the charges")
	// ErrDurability: the file system cannot promise that synced bytes stay, or that a
	// lock holds.
	ErrDurability = errors.New("ledger: file system is not durable")
)
