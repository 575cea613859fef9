package sessionfile_test

import (
	"testing"
	"time"

	"github.com/forge-agent/forge/sessionfile"
)

func TestValueTime(t *testing.T) {
	for _, test := range []struct {
		raw  string
		unit time.Duration
		want time.Time
	}{
		{`"2026-01-02T03:04:05.678Z"`, time.Second, time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)},
		{`1767323045.5`, time.Second, time.Date(2026, 1, 2, 3, 4, 5, 500e6, time.UTC)},
		{`1767323045678`, time.Millisecond, time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)},
		{`214748364700`, time.Second, time.Unix(214748364700, 0)},
		{`214748364701`, time.Second, time.Time{}},
		{`214748364700001`, time.Millisecond, time.Time{}},
		{`"yesterday"`, time.Second, time.Time{}},
		{`0`, time.Second, time.Time{}},
		{`-1`, time.Second, time.Time{}},
		{`1e400`, time.Second, time.Time{}},
		{`null`, time.Second, time.Time{}},
		{`{}`, time.Second, time.Time{}},
		{``, time.Second, time.Time{}},
	} {
		if got := (sessionfile.Value{Raw: []byte(test.raw)}).Time(test.unit); !got.Equal(test.want) {
			t.Errorf("%s in units of %v is %v, want %v", test.raw, test.unit, got, test.want)
		}
	}
}

func TestCompactJSON(t *testing.T) {
	for raw, want := range map[string]string{`{ "a" : [1, "x y"] }`: `{"a":[1,"x y"]}`, `{"a": `: `{"a": `, ` 7 `: `7`, ``: ``} {
		if got := sessionfile.CompactJSON([]byte(raw)); got != want {
			t.Errorf("%s is %s, want %s", raw, got, want)
		}
	}
}

func TestValueNumber(t *testing.T) {
	for raw, want := range map[string]int{`7`: 7, `7.9`: 7, `1099511627776`: 1 << 40, `1099511627777`: 0, `-1`: 0, `1e400`: 0, `"7"`: 0, `null`: 0, ``: 0} {
		if got := (sessionfile.Value{Raw: []byte(raw)}).Number(); got != want {
			t.Errorf("%s is %d, want %d", raw, got, want)
		}
	}
}
