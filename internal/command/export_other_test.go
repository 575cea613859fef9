//go:build !linux

package command

// LandlockVersion is that of a system without Landlock.
func LandlockVersion() int { return 0 }

// TextsByVersion returns what is said on a system without Landlock.
func TextsByVersion(dir string) map[int]string {
	return map[int]string{0: expect([]string{dir}).Text}
}
