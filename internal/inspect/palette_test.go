package inspect_test

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"
)

// vision turns linear light into what an eye of that kind sees: nobody's
// deficiency, and the three of dichromats after Machado, Oliveira and
// Fernandes, "A Physiologically-based Model for Simulation of Color Vision
// Deficiency" (2009), severity 1.
var vision = map[string][3][3]float64{
	"full":         {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritanopia":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

func linear(t *testing.T, hex string) (c [3]float64) {
	for i := range c {
		n, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		v := float64(n) / 255
		if c[i] = math.Pow((v+0.055)/1.055, 2.4); v <= 0.04045 {
			c[i] = v / 12.92
		}
	}
	return c
}

func times(m [3][3]float64, v [3]float64) (out [3]float64) {
	for i := range out {
		for j := range v {
			out[i] += m[i][j] * v[j]
		}
	}
	return out
}

// oklab is Björn Ottosson's uniform colour space: distances in it are about
// as large as the eye finds them.
func oklab(c [3]float64) [3]float64 {
	for i := range c {
		c[i] = min(max(c[i], 0), 1)
	}
	l := times([3][3]float64{{0.4122214708, 0.5363325363, 0.0514459929}, {0.2119034982, 0.6806995451, 0.1073969566}, {0.0883024619, 0.2817188376, 0.6299787005}}, c)
	for i := range l {
		l[i] = math.Cbrt(l[i])
	}
	return times([3][3]float64{{0.2104542553, 0.7936177850, -0.0040720468}, {1.9779984951, -2.4285922050, 0.4505937099}, {0.0259040371, 0.7827717662, -0.8086757660}}, l)
}

// The eleven colours stay apart for every eye, those that touch in the chart
// more so; on both backgrounds. 0.02 is about the smallest difference that is
// seen side by side.
func TestColoursStayApart(t *testing.T) {
	var d struct {
		Categories []struct{ Name, Light, Dark string }
	}
	if err := json.Unmarshal([]byte(scripts.FindStringSubmatch(pageOf(t, fixture(t)))[2]), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Categories) != 11 {
		t.Fatalf("%d categories", len(d.Categories))
	}
	for _, theme := range []string{"light", "dark"} {
		for eye, m := range vision {
			seen := make([][3]float64, len(d.Categories))
			for i, c := range d.Categories {
				hex := map[string]string{"light": c.Light, "dark": c.Dark}[theme]
				seen[i] = oklab(times(m, linear(t, hex)))
			}
			for i := range seen {
				for j := range i {
					least := 0.08
					if j == i-1 {
						least = 0.12
					}
					distance := math.Hypot(math.Hypot(seen[i][0]-seen[j][0], seen[i][1]-seen[j][1]), seen[i][2]-seen[j][2])
					if distance < least {
						t.Errorf("%s, %s: %s and %s are %.3f apart, want %.2f", theme, eye, d.Categories[j].Name, d.Categories[i].Name, distance, least)
					}
				}
			}
		}
	}
}
