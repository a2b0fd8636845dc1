package data

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"sotto/config"
)

// checkLimit refuses a limit of records where one more would push another out.
func (s *Source) checkLimit(limit int) error {
	if (s.OneByOne || s.PersonsVary) && limit != 0 {
		return config.Bad("limit", limit, "0 under add-remove, and with unit person under replace-one: one "+
			"record more would push another out")
	}
	return nil
}

// RecordCoin is a number in [0, 1) that follows from the seed, what it is for and the
// contents of record r alone: no other record moves it, and equal records have one coin.
func (d *Dataset) RecordCoin(seed uint64, what string, r int) float64 {
	h := sha256.New()
	fmt.Fprintf(h, "sotto records, %s, seed %d\n", what, seed)
	binary.Write(h, binary.LittleEndian, d.X.Row(r)) // a hash takes everything
	if d.Labels != nil {
		fmt.Fprintf(h, "label %d\n", d.Labels[r])
	}
	if d.Targets != nil {
		binary.Write(h, binary.LittleEndian, d.Targets[r])
	}
	return coin(h.Sum(nil))
}

// coin is a number in [0, 1) from the first bytes of a hash.
func coin(sum []byte) float64 {
	return math.Ldexp(float64(binary.BigEndian.Uint64(sum)>>11), -53)
}

// holdOutOneByOne draws every record with probability TestFraction for the test part, by
// its own coin.
func holdOutOneByOne(d *Dataset, p TableParams, seed uint64) (*Split, error) {
	s, err := holdOutBy(d, p, func(r int) float64 { return d.RecordCoin(seed, "test records", r) })
	if s != nil {
		s.oneByOne = true
	}
	return s, err
}

// holdOutBy tests with records whose coin is below TestFraction. Parts may be empty.
func holdOutBy(d *Dataset, p TableParams, coin func(r int) float64) (*Split, error) {
	var rows [2][]int32
	for i := range d.Len() {
		part := 0
		if coin(i) < p.TestFraction {
			part = 1
		}
		rows[part] = append(rows[part], int32(i))
	}
	return &Split{Train: d.Select(rows[0]).head(p.Limit), Test: d.Select(rows[1]).head(p.TestLimit)}, nil
}
