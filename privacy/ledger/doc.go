// Package ledger records every privacy charge of one owner's data before the answer that
// it pays for exists. A charge that was admitted stands, whether or not its answer ever
// left.
//
// [Ledger] is what a gate sees. [File] is the durable one. [Memory] is the simulator's
// twin, in which equal charges in a row are one record with a count. Both pass the suite
// of package ledgertest.
//
// # Protocol
//
// [File.Charge] asks the filter, appends one record and syncs it (fdatasync; macOS:
// F_FULLFSYNC), all under one lock, and only then returns the record's number. A gate
// reads data after that, never before. Hence, whatever crashes when:
//
//   - An answer that anybody has seen is charged on the disk: charges >= releases.
//   - A number is given out once, also after a rollback that is recorded (below). It is
//     the last one plus one, under an exclusive lock of
//     the directory (flock; the file "lock" also names process and boot). The open
//     record, which every Open appends, takes a number as well.
//   - A crash between charge and answer leaves a charge without a release. That is safe,
//     and never taken back.
//   - After a failed write or sync nobody knows what is on the disk. The File is
//     poisoned: it writes nothing more, and every call says so. Open finds out what was
//     kept. Should a disk show it a record that a failed sync did not store, and lose it
//     later, the ledger is found corrupt then; it never counts less than was answered.
//
// A record that a crash left half written is cut by the next Open, which notes it in its
// open record, if it is the last one of the last segment, no intact record follows it,
// and no checkpoint or stored outbox names its number or a later one
// ([Options].KnownSeq): then its answer cannot have left. Any other damage is
// [ErrCorrupt], and nothing is repaired. If the crash happens again before the open
// record is durable, the note is lost; the charge was never there.
//
// # Budget
//
// The budget belongs to people, not to a run or a file. It stands in the genesis, and the
// filter is fed with all charges of the past when the ledger is opened. [OpenFor] finds
// the ledger of a data set by its [Fingerprint]: one shared record is enough to charge
// the old budget, so that correcting or adding a record never opens a fresh one. Records
// are recognised by their lines and by value, see [Table]. What is not recognised is
// charged to the ledger of the population that its owner names; [Find] has the rules. A
// ledger keeps the fingerprint of all records that were ever charged to it. By default
// the filter is an account.RDPFilter; a caller that brings another one, such as an
// account.CountFilter for a run planned with a tighter accountant, answers for its
// fitting the budget together with the past. [Verify] reports a ledger that is overspent.
//
// # Rollbacks
//
// A ledger that was restored from an older copy lacks charges whose answers have left.
// Where the neighbors of its owner's node hold signed evidence of them,
// [File.RollBack] charges them in one signed record, even beyond the budget. The record
// takes all numbers that were given out before and one more. Statements list it.
//
// # Keys
//
// A ledger outlives its owner's key. [File.Rotate], [Rotate] and [RotateAll] append a
// record of kind key, a [Rotation], which the old key and the new one have signed. From
// there on the new one signs closes, statements, seals, heads and names of populations,
// and what is signed is checked with the key that held at its place. The record is one
// write: after a crash one of the two keys holds, and a rotation to the key that holds
// does nothing. No key comes back. Options.Key and Options.PublicKey are the present one.
// Seals from before stay signed by the old key: whoever stole it, and can write the
// files, can forge what a start reads. [Verify] finds that.
//
// Statements and heads carry the rotations so far. Whoever holds a former key, or a head
// by it, follows them to the present one ([SignedStatement.Verify], [SignedHead.Verify],
// [SignedStatement.Follows]). Where the old key was lost or stolen, the new one may sign
// alone. Statements list that among their overrides, and nobody can follow from there:
// that the new key is the owner's has to be learned elsewhere.
//
// # Files
//
//	genesis.json         what is protected, the budget, the first key, its signature;
//	                     canonical JSON and a line end
//	000001.log, ...      records; a new segment follows when one has reached 8 MiB
//	000001.sum, ...      seals: what the records up to the end of that segment add up to
//	population.json      the name of the population, where the genesis has none
//	dataset-TAG.fp       the fingerprint of all records charged so far
//	lock                 process id and boot id of the holder
//
// The genesis holds adjacency, budget, id, min_records, public_key, signature, unit and
// v, and in version 2 population and beside, see [Genesis]; its signature is Ed25519 over
// "sotto ledger genesis\n" and the object without it. population.json is signed likewise,
// over "sotto ledger population\n", by a key that the ledger has had.
//
// A seal counts once there is a segment after its own. It holds the sizes, last numbers
// and hashes of all segments so far, how often every event was charged, and by which run,
// the rotations, and the owner's signature: of the key that held at its end, or of a
// later one where it was made anew. A start reads the newest one whose segments have the
// sizes that it names, and the segments after it: damage before is found by [Verify],
// which reads everything and compares every seal. A seal that is damaged, missing or does
// not fit is passed over, and made again.
//
// A segment is a row of frames without gaps:
//
//	bytes 0-3    length of the payload, unsigned, little endian, 1 to 2^20
//	bytes 4-7    CRC-32C of the payload, likewise
//	then         the payload: one JSON object
//
// The object's keys are sorted, without blanks; strings are written as encoding/json
// writes them, numbers are decimal integers. Any other spelling is refused.
//
//	adjacency    of the ledger, on every record
//	agent        who charged, see Options
//	charges      rolled back: what was missing, a list of {"count","event"}
//	claim        close, statement:
//	             {"accountant","delta","epsilon":{"lower","upper"},"version"}
//	count        how many charges, or numbers; 1 but for rolled back
//	dataset      tag of the fingerprint, "" without; changes at open records only
//	digest       statement: SHA-256 of the JSON that was signed, see SignedStatement;
//	             rolled back: of the evidence
//	event        charge: canonical JSON of the account.Event
//	from         rolled back: the highest number that was known
//	kind         open, charge, override, close, rotate, statement, rolled back, key;
//	             the first record is an open
//	new_key      key: the one that holds from here on, Ed25519
//	new_signature  key: by the new key, see Rotation
//	note         override: what was accepted; open: what was cut; rolled back: in words;
//	             key: "key replaced without the old key: " and why, else none
//	old_key      key: the one that held so far
//	old_signature  key: by the old key; none with a note
//	overrides    how many override records so far, this one included; rolled back, and
//	             key with a note, count as such
//	prev         SHA-256 of the payload before; of the first:
//	             of the genesis without its line end
//	round        coarse time; no clock is ever written
//	run          see Options
//	seq          number of the record; the next one has seq + count
//	signature    close, statement, rolled back: Ed25519 over "sotto ledger record\n" and
//	             the object without this key
//	to           rolled back: the last number that was left
//	total        charge: how often this event was charged so far, this record included
//	unit         of the ledger, on every record
//	v            1; 2 of rolled back, and of an open whose fingerprint has format 2;
//	             3 of key
//
// A fingerprint is "SOTTOFP1", 16 bytes that identify the secret, the number of digests
// (u64 little endian), the digests of 16 bytes each in ascending order, and the SHA-256
// of all that; TAG is the first half of the SHA-256 of the file. Format 2, "SOTTOFP2",
// has lists after these digests, each after its length: of people, and for every set of
// columns that records were seen in, its names and the records by value, all digested.
//
// # What it proves, and what not
//
// [Verify] recomputes checksums, hashes, signatures, numbers, totals and every epsilon
// that was recorded. Editing, reordering or removing records breaks the chain. Cutting
// the end, restoring an old copy, or rewriting everything with the owner's key is found
// by whoever holds a later head: the owner's own checkpoint ([Options].KnownSeq and
// KnownHead), or a peer ([SignedHead]). A rotation without the old key's signature
// proves nothing about the owner: whoever can write the files can append one, as it can
// delete them. The owner's next start finds it, since its own key does not hold any more.
//
// An owner can delete a ledger, and no software can prevent that; its past releases then
// count for nothing in the figures of later runs, which are wrong by that much.
// Statements say so. The ledger of a data set that was destroyed may go with it.
// Everything but the fingerprint is public by construction: no record depends on private
// data. The fingerprint stays with the owner; under its secret it tells only the number
// of distinct records.
//
// Disks that lie about syncs are beyond this package. File systems that keep nothing
// (tmpfs) or leave syncs and locks to others (network and user-space ones) are refused
// with [ErrDurability], as are systems other than Linux and macOS.
package ledger
