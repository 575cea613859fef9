package patch_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
	"pgregory.net/rapid"

	"github.com/forge-agent/forge/internal/patch"
)

const file = "one\ntwo\nthree\nfour\nfive\n\nseven\ntwo\n"

func begin(lines ...string) string {
	return "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch"
}

func TestApply(t *testing.T) {
	for _, tt := range []struct{ name, old, patch, want string }{
		{"unified", file, "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n", strings.Replace(file, "two", "zwei", 1)},
		{"unified, two hunks", file, "diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n one\n+more\n@@ -7,2 +8 @@ func\n seven\n-two\n", "one\nmore\ntwo\nthree\nfour\nfive\n\nseven\n"},
		{"unified, insert at the top", "a\n", "--- f\n+++ f\n@@ -0,0 +1 @@\n+b\n", "b\na\n"},
		{"unified, no line end", "a", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n", "b\n"},
		{"unified, line end gone", "a\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n", "b"},
		{"unified, CRLF file", "a\r\nb\r\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n a\n+x\n b\n", "a\r\nx\r\nb\r\n"},
		{"unified, CRLF patch", "a\r\nb\r\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+x\r\n", "a\r\nx\r\n"},
		{"unified, minus signs in text", "-- x\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n--- x\n+++ y\n", "++ y\n"},
		{"envelope", file, begin("*** Update File: f", "@@", " one", "-two", "+zwei"), strings.Replace(file, "two", "zwei", 1)},
		{"envelope, first @@ left out", file, begin("*** Update File: f", "-three", "+drei"), strings.Replace(file, "three", "drei", 1)},
		{"envelope, anchor", file, begin("*** Update File: f", "@@ seven", "-two", "+zwei"), strings.TrimSuffix(file, "two\n") + "zwei\n"},
		{"envelope, insert below an anchor", file, begin("*** Update File: f", "@@ four", "+x"), strings.Replace(file, "four\n", "four\nx\n", 1)},
		{"envelope, two anchors", "a\n x\nb\n x\n y\n", begin("*** Update File: f", "@@ b", "@@ x", "- y", "+ z"), "a\n x\nb\n x\n z\n"},
		{"envelope, two hunks", file, begin("*** Update File: f", "@@", "-one", "@@", "-seven", "+7"), strings.Replace(strings.TrimPrefix(file, "one\n"), "seven", "7", 1)},
		{"envelope, end of file", file, begin("*** Update File: f", "@@", "-two", "+zwei", "*** End of File"), strings.TrimSuffix(file, "two\n") + "zwei\n"},
		{"envelope, append", "a", begin("*** Update File: f", "@@", "+b", "*** End of File"), "a\nb"},
		{"envelope, empty context line", file, begin("*** Update File: f", "@@", " five", "", "-seven", "+7"), strings.Replace(file, "seven", "7", 1)},
		{"envelope, spacing", file, begin("", "*** Update File: f", "@@", "-seven", "+7", ""), ""},
		{"envelope, no line end stays", "a\nb", begin("*** Update File: f", "@@", "-b", "+c"), "a\nc"},
		{"envelope, CRLF file", "a\r\nb\r\n", begin("*** Update File: f", "@@", " a", "-b", "+c"), "a\r\nc\r\n"},
		{"envelope in CRLF", "a\r\nb\r\n", strings.ReplaceAll(begin("*** Update File: f", "@@", " a", "-b", "+c"), "\n", "\r\n"), "a\r\nc\r\n"},
		{"envelope, all gone", "a\n", begin("*** Update File: f", "@@", "-a"), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files, err := patch.Parse(tt.patch)
			if tt.name == "envelope, spacing" {
				if err == nil {
					t.Error("an empty line before a file is taken")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(files) != 1 || files[0].Path != "f" || files[0].Op != patch.Update {
				t.Fatalf("files %+v", files)
			}
			got, err := files[0].Apply([]byte(tt.old))
			if err != nil || string(got) != tt.want {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	for _, tt := range []struct {
		name, patch string
		want        patch.File
		text        string
	}{
		{"add", begin("*** Add File: a/b", "+x", "+", "+y"), patch.File{Op: patch.Add, Path: "a/b"}, "x\n\ny\n"},
		{"add empty", begin("*** Add File: e"), patch.File{Op: patch.Add, Path: "e"}, ""},
		{"delete", begin("*** Delete File: a b"), patch.File{Op: patch.Delete, Path: "a b"}, ""},
		{"move only", begin("*** Update File: a", "*** Move to: b"), patch.File{Op: patch.Update, Path: "a", NewPath: "b"}, ""},
		{"unified add", "--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+x\n+y\n", patch.File{Op: patch.Add, Path: "n"}, "x\ny\n"},
		{"unified add, executable", "diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n", patch.File{Op: patch.Add, Path: "n", Executable: true}, "x\n"},
		{"unified move", "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n", patch.File{Op: patch.Update, Path: "x", NewPath: "y"}, ""},
		{"without prefixes", "--- b/x\n+++ b/x\n@@ -0,0 +1 @@\n+q\n", patch.File{Op: patch.Update, Path: "b/x"}, "q\n"},
		{"with times", "--- a/x\t2026-01-01\n+++ b/x\t2026-01-02\n@@ -0,0 +1 @@\n+q\n", patch.File{Op: patch.Update, Path: "x"}, "q\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files, err := patch.Parse(tt.patch)
			if err != nil || len(files) != 1 {
				t.Fatalf("%+v, %v", files, err)
			}
			f := files[0]
			if f.Op != tt.want.Op || f.Path != tt.want.Path || f.NewPath != tt.want.NewPath || f.Executable != tt.want.Executable {
				t.Errorf("got %+v", f)
			}
			if text, err := f.Apply(nil); err != nil || string(text) != tt.text {
				t.Errorf("text %q, %v", text, err)
			}
		})
	}
	files, err := patch.Parse("--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-c\n-d\n")
	if err != nil || files[0].Op != patch.Delete || files[0].Path != "x" {
		t.Fatalf("unified delete: %+v, %v", files, err)
	}
	if _, err := files[0].Apply([]byte("c\nd\n")); err != nil {
		t.Error(err)
	}
	if _, err := files[0].Apply([]byte("c\nd\ne\n")); err == nil {
		t.Error("deletes more than it says")
	}
	files, err = patch.Parse(begin("*** Add File: a", "+1", "*** Update File: b", "@@", "-x", "+y", "*** Delete File: c"))
	if err != nil || len(files) != 3 {
		t.Errorf("three files: %+v, %v", files, err)
	}
}

// What cannot be read says where and what to change.
func TestParseRefuses(t *testing.T) {
	for name, tt := range map[string][2]string{
		"empty":              {" \n", "is empty"},
		"prose":              {"please change f", "neither a unified diff"},
		"NUL":                {"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\x00\n+b\n", "NUL"},
		"count too small":    {"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n+c\n", `Line 6 of the patch: "+c" belongs to no hunk`},
		"count too large":    {"--- a/f\n+++ b/f\n@@ -1,5 +1,5 @@\n-a\n+b\n", "no valid unified diff"},
		"text before":        {"Here it is:\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n", "belongs to no hunk"},
		"no file":            {"@@ -1 +1 @@\n-a\n+b\n", "no valid unified diff"},
		"two names":          {"--- a/f\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n", `"a/f" and "b/g" differ`},
		"binary":             {"diff --git a/f b/f\nindex 1..2\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n\n", ""},
		"link":               {"diff --git a/f b/f\nnew file mode 120000\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n", "no links"},
		"mode":               {"diff --git a/f b/f\nold mode 100644\nnew mode 100755\n", "Modes"},
		"copy":               {"diff --git a/f b/g\nsimilarity index 100%\ncopy from f\ncopy to g\n", "Copies"},
		"same file twice":    {begin("*** Delete File: f", "*** Delete File: f"), "named twice"},
		"moved onto another": {begin("*** Update File: a", "*** Move to: b", "*** Add File: b", "+x"), "named twice"},
		"no end":             {"*** Begin Patch\n*** Delete File: f\n", `without "*** End Patch"`},
		"text after the end": {begin("*** Delete File: f") + "\nmore", "text after"},
		"no files":           {"*** Begin Patch\n*** End Patch\n", "names no file"},
		"unknown marker":     {begin("*** Rename File: f"), "not expected"},
		"no path":            {begin("*** Update File:  ", "@@", "+x"), "not expected"},
		"added without plus": {begin("*** Add File: f", "x"), `Line 3 of the patch: each line of a new file begins with "+"`},
		"line without sign":  {begin("*** Update File: f", "@@", "x"), "begins with a space"},
		"no change":          {begin("*** Update File: f", "@@", " x"), "changes nothing"},
		"no hunk":            {begin("*** Update File: f"), "changes nothing"},
		"nowhere":            {begin("*** Update File: f", "@@", "+x"), "not where"},
		"moved to itself":    {begin("*** Update File: f", "*** Move to: f"), "another path"},
		"first line":         {"*** Begin Patch now\n*** End Patch", "on a line of its own"},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := patch.Parse(tt[0])
			var known *patch.Error
			if !errors.As(err, &known) || !strings.Contains(err.Error(), tt[1]) {
				t.Errorf("got %+v, %v", files, err)
			}
		})
	}
}

// A hunk applies exactly where it belongs or not at all, and the error says
// where its lines are.
func TestApplyRefuses(t *testing.T) {
	for name, tt := range map[string][3]string{
		"shifted":            {file, "--- a/f\n+++ b/f\n@@ -2 +2 @@\n-three\n+drei\n", "These lines are at line 3"},
		"white space":        {"\tx  y\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n- x y\n+z\n", "white space only"},
		"past the end":       {"a\n", "--- a/f\n+++ b/f\n@@ -9 +9 @@\n-a\n+b\n", "the file has 1 lines"},
		"far past the end":   {"a\n", "--- a/f\n+++ b/f\n@@ -99999999999 +1 @@\n-a\n+b\n", "the file has 1 lines"},
		"insert past end":    {"a\n", "--- a/f\n+++ b/f\n@@ -9,0 +9 @@\n+b\n", "the file has 1 lines"},
		"overlap":            {file, "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n@@ -2 +2 @@\n-two\n+2\n", "overlaps"},
		"line end differs":   {"a", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n", "without a line end"},
		"open line inside":   {"a\nb\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+x\n\\ No newline at end of file\n", "in the middle"},
		"not there":          {file, begin("*** Update File: f", "@@", "-eight"), "do not stand"},
		"twice there":        {file, begin("*** Update File: f", "@@", "-two", "+zwei"), "stand at lines 2, 8"},
		"anchor not there":   {file, begin("*** Update File: f", "@@ ten", "-two"), `no line "ten"`},
		"anchor twice there": {file, begin("*** Update File: f", "@@ two", "+x"), "at lines 2, 8"},
		"wrong order":        {file, begin("*** Update File: f", "@@", "-five", "@@", "-one"), "below line 5"},
		"not at the end":     {file, begin("*** Update File: f", "@@", "-one", "*** End of File"), "does not end in"},
		"CR in one line":     {"a\r\nb\n", begin("*** Update File: f", "@@", "-a"), "white space only"},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := patch.Parse(tt[1])
			if err != nil {
				t.Fatal(err)
			}
			got, err := files[0].Apply([]byte(tt[0]))
			var known *patch.Error
			if !errors.As(err, &known) || !strings.Contains(err.Error(), tt[2]) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// texts are made of few different lines, so that they repeat, with line ends of
// both kinds and without one at the end.
func texts(t *rapid.T, label string) string {
	lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "", " ", "+x", "-y", "@@ -1 +1 @@", "*** End Patch", "漢字 😀", "--- a/f", `\ No newline`, "\r", "c\r"}), 0, 30).Draw(t, label)
	text := strings.Join(lines, "\n")
	if text != "" && rapid.Bool().Draw(t, label+" ends") {
		text += "\n"
	}
	return text
}

// A diff that is made and read again gives exactly the new bytes from the old
// ones, and reversed the old bytes from the new ones.
func TestThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, changed := texts(t, "old"), texts(t, "new")
		if old == changed {
			return
		}
		text := udiff.Unified("a/f", "b/f", old, changed)
		files, err := patch.Parse(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		got, err := files[0].Apply([]byte(old))
		if err != nil || string(got) != changed {
			t.Fatalf("got %q, %v; want %q from %q by\n%s", got, err, changed, old, text)
		}
		if !files[0].Reversible() {
			t.Fatal("not reversible")
		}
		back, err := files[0].Reverse().Apply(got)
		if err != nil || string(back) != old {
			t.Fatalf("back: got %q, %v; want %q from %q by\n%s", back, err, old, changed, text)
		}
	})
}

// Lines that repeat take no longer than others: this is 100,000 by 50,000
// comparisons for a search that begins anew at each line.
func TestRepeatedLines(t *testing.T) {
	old := strings.Repeat("a\n", 100_000)
	files, err := patch.Parse(begin("*** Update File: f", "@@", strings.Repeat(" a\n", 50_000)+"-b"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := files[0].Apply([]byte(old)); err == nil || !strings.Contains(err.Error(), "do not stand") {
		t.Errorf("got %v", err)
	}
	files, err = patch.Parse(begin("*** Update File: f", "@@", " a", " b", " a", " b", "-c"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := files[0].Apply([]byte("a\nb\na\nb\na\nb\nc\n"))
	if err != nil || string(got) != "a\nb\na\nb\na\nb\n" {
		t.Errorf("a run that begins within another: %q, %v", got, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n", "a\nb\n")
	f.Add(begin("*** Update File: f", "*** Move to: g", "@@ a", " b", "-c", "+d", "*** End of File"), "a\nb\nc")
	f.Add(begin("*** Add File: f", "+x", "*** Delete File: g"), "")
	f.Add("diff --git a/x b/y\nrename from x\nrename to y\n", "x")
	f.Add("--- a/f\n+++ b/f\n@@ -9223372036854775807,9223372036854775807 +1 @@\n-a\n", "a\n")
	f.Fuzz(func(t *testing.T, text, old string) {
		files, err := patch.Parse(text)
		if err != nil {
			if len(files) > 0 || !utf8.ValidString(err.Error()) && utf8.ValidString(text) {
				t.Fatalf("%d files with %q", len(files), err)
			}
			return
		}
		for _, f := range files {
			before := old
			got, err := f.Apply([]byte(old))
			if old != before {
				t.Fatal("the argument changed")
			}
			if err != nil || !f.Reversible() || f.Op != patch.Update {
				continue
			}
			back, err := f.Reverse().Apply(got)
			if err != nil || string(back) != old {
				t.Fatalf("%q became %q and then %q, %v", old, got, back, err)
			}
		}
	})
}
