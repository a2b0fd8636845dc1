package experiment

// CheckChange refuses what keeps the members of a run from changing.
func CheckChange(f *File) error { return f.Check(fixed) }

// Resize makes f the run of another number of members, as amended rosters have it.
func Resize(f *File, members int) error {
	if err := CheckChange(f); err != nil {
		return err
	}
	settle(f, func(f *File) { f.Topology.Agents = members })
	return nil
}
