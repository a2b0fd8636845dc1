// Package porttest finds ports for the nodes of tests.
package porttest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"net"
	"sync"
)

// The range lies below the ports that systems give to whoever asks for any. One of those
// may go to a stranger after it was found free and before it is used.
const (
	first = 20_000
	count = 12_000
)

var (
	mu    sync.Mutex
	given = map[int]bool{}
)

// Free returns a port of the loopback interface that nobody listens on, another one each
// time.
func Free() (int, error) {
	mu.Lock()
	defer mu.Unlock()
	var last error
	for range 100 {
		n, err := rand.Int(rand.Reader, big.NewInt(count))
		if err != nil {
			return 0, err
		}
		port := first + int(n.Int64())
		if given[port] {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			last = err
			continue
		}
		given[port] = true
		return port, l.Close()
	}
	return 0, errors.Join(errors.New("porttest: no free port"), last)
}
