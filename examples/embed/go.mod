module example.org/embed

go 1.26.0

require sotto v0.0.0

require (
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)

replace sotto => ../..
