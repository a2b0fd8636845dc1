package account_test

import (
	"testing"

	"sotto/privacy/account"
	"sotto/privacy/account/accounttest"
)

func TestConformance(t *testing.T) {
	for _, name := range account.Names() {
		for _, a := range []account.Adjacency{account.AddRemove, account.ReplaceOne, account.ZeroOut} {
			t.Run(name+"/"+a.String(), func(t *testing.T) {
				t.Parallel()
				accounttest.Run(t, func() account.Accountant {
					acc, err := account.New(name, a, account.Record())
					if err != nil {
						t.Fatal(err)
					}
					return acc
				})
			})
		}
	}
}
