package session_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/forge-agent/forge/session"
)

// Every cut and every changed byte of an export is noticed, unless it is the
// white space at its end or a part that no hash or count covers.
func TestCutExportsAreNoticed(t *testing.T) {
	archive, err := txtar.ParseFile("../sessionfile/forgejsonl/testdata/whole.txtar")
	if err != nil {
		t.Fatal(err)
	}
	whole := bytes.TrimSpace(archive.Files[0].Data)
	for cut := range len(whole) {
		if _, err := readAll(whole[:cut], false); !errors.Is(err, session.ErrExport) {
			t.Fatalf("cut at byte %d: %v", cut, err)
		}
	}
	if n, err := readAll(whole, false); err != nil || n != 3 {
		t.Fatalf("%d messages, %v", n, err)
	}
	for at := bytes.IndexByte(whole, '\n'); at < len(whole); at++ {
		bad := bytes.Clone(whole)
		bad[at] ^= 1
		if n, err := readAll(bad, false); err == nil && n != 3 {
			t.Fatalf("byte %d changed: %d messages and no error", at, n)
		}
	}
}

// readAll reads an export to its end and returns how many messages it has.
func readAll(data []byte, salvage bool) (int, error) {
	_, content, err := session.ReadExport(bytes.NewReader(data), salvage)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, err := range content.Messages {
		if err != nil {
			return n, err
		}
		n++
	}
	_, _, err = content.Records()
	return n, err
}

// An export that is damaged anywhere is refused, or read with salvage and the
// loss named; never a panic, never a silent gap.
func FuzzReadExport(f *testing.F) {
	archive, err := txtar.ParseFile("../sessionfile/forgejsonl/testdata/whole.txtar")
	if err != nil {
		f.Fatal(err)
	}
	whole := archive.Files[0].Data
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, salvage := range []bool{false, true} {
			_, content, err := session.ReadExport(io.LimitReader(bytes.NewReader(data), 1<<20), salvage)
			if err != nil {
				continue
			}
			failed := false
			for _, err := range content.Messages {
				failed = failed || err != nil
			}
			if failed {
				continue
			}
			records, _, err := content.Records()
			if salvage && err != nil {
				t.Fatalf("salvage gives up: %v", err)
			}
			losses := 0
			for _, r := range records {
				if r.Kind == session.KindLoss {
					losses++
				}
			}
			if whole := err == nil && !salvage; salvage && losses == 0 && !bytes.Contains(data, []byte(`"end"`)) || whole && !bytes.Contains(data, []byte(`"end"`)) {
				t.Fatal("an export without its end was taken for whole")
			}
		}
	})
}
