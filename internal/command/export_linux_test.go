package command

// LandlockVersion is what the kernel says.
func LandlockVersion() int { return landlockVersion() }

// TextsByVersion returns what would be said on kernels of several versions.
func TextsByVersion(dir string) map[int]string {
	out := map[int]string{}
	for _, version := range []int{0, 1, 2, 3, 7} {
		out[version] = expectWith(version, []string{dir}).Text
	}
	return out
}
