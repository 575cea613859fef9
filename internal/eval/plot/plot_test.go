package plot_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/internal/eval/plot"
)

// Whatever the figures and names, the picture is well-formed XML, holds every
// name, and the same figures give the same bytes.
func TestSVGIsWellFormed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.Float64Range(0, 2), rapid.SampledFrom([]float64{0, -1, 1e12, math.NaN(), math.Inf(1)}))
		name := rapid.StringMatching(`[a-z<>&"' ]{1,20}`)
		places := rapid.IntRange(0, 6).Draw(t, "places")
		c := plot.Chart{Title: name.Draw(t, "title"), XTitle: "x", YTitle: "y", Percent: rapid.Bool().Draw(t, "percent")}
		for range places {
			c.Places = append(c.Places, name.Draw(t, "place"))
		}
		for range rapid.IntRange(0, 12).Draw(t, "lines") {
			values := rapid.SliceOfN(value, places, places)
			c.Lines = append(c.Lines, plot.Line{Name: name.Draw(t, "line"), Values: values.Draw(t, "values"), Low: values.Draw(t, "low"), High: values.Draw(t, "high")})
		}
		svg := c.SVG()
		d := xml.NewDecoder(bytes.NewReader(svg))
		var text strings.Builder
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v in\n%s", err, svg)
			}
			if data, ok := token.(xml.CharData); ok {
				text.Write(data)
			}
		}
		for _, l := range c.Lines {
			if !strings.Contains(text.String(), l.Name) {
				t.Fatalf("the picture lacks %q", l.Name)
			}
		}
		if bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
			t.Fatalf("a place that is no number:\n%s", svg)
		}
		if !bytes.Equal(svg, c.SVG()) {
			t.Fatal("the same chart gave other bytes")
		}
	})
}
