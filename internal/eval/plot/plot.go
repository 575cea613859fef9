// Package plot draws line charts as SVG, for reports that are read as files:
// no script, no outside resources, the same bytes for the same figures.
package plot

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// A Chart is a set of lines over the same places.
type Chart struct {
	// Title stands above, XTitle and YTitle at the axes.
	Title, XTitle, YTitle string
	// Places are the labels of the x axis, evenly spaced.
	Places []string
	// Lines are drawn in order; the first is drawn boldest and on top.
	Lines []Line
	// Top is the largest value of the y axis; zero takes it from the lines.
	// Values above it are drawn at the edge.
	Top float64
	// Percent writes the y axis in percent of one.
	Percent bool
}

// A Line is one value for each place.
type Line struct {
	Name   string
	Values []float64
	// Low and High are intervals around the values; nil for none.
	Low, High []float64
}

// Sizes of the picture in pixels.
const (
	width, height = 860, 420
	left, right   = 70, 250
	top, bottom   = 46, 60
)

// colours are those of Okabe and Ito, which stay apart with every kind of
// colour blindness; with more lines they repeat, dashed and then dotted.
func colours() []string {
	return []string{"#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f"}
}

// SVG draws the chart. It has its own light background, so that it can be
// read on a dark page too.
func (c Chart) SVG() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s" font-family="sans-serif" font-size="13">`+"\n",
		width, height, width, height, html.EscapeString(c.Title))
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	fmt.Fprintf(&b, `<text x="%d" y="24" font-size="16" font-weight="bold">%s</text>`+"\n", left, html.EscapeString(c.Title))
	c.axes(&b)
	for i := len(c.Lines) - 1; i >= 0; i-- {
		c.line(&b, i)
	}
	c.legend(&b)
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

func (c Chart) top() float64 {
	if c.Top > 0 {
		return c.Top
	}
	most := 0.0
	for _, l := range c.Lines {
		for _, v := range l.Values {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				most = max(most, v)
			}
		}
	}
	if most == 0 {
		return 1
	}
	return most
}

func (c Chart) x(i int) float64 {
	if len(c.Places) < 2 {
		return left + float64(width-left-right)/2
	}
	return left + float64(width-left-right)*float64(i)/float64(len(c.Places)-1)
}

func (c Chart) y(v float64) float64 {
	if math.IsNaN(v) {
		v = 0
	}
	v = min(max(v, 0), c.top())
	return top + float64(height-top-bottom)*(1-v/c.top())
}

func (c Chart) axes(b *strings.Builder) {
	for i := range 6 {
		v := c.top() * float64(i) / 5
		label := fmt.Sprintf("%.3g", v)
		if c.Percent {
			label = fmt.Sprintf("%.0f %%", 100*v)
		}
		fmt.Fprintf(b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#dddddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			left, c.y(v), width-right, c.y(v), left-8, c.y(v)+4, label)
	}
	for i, p := range c.Places {
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", c.x(i), height-bottom+20, html.EscapeString(p))
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", left+(width-left-right)/2, height-14, html.EscapeString(c.XTitle))
	fmt.Fprintf(b, `<text transform="translate(16 %d) rotate(-90)" text-anchor="middle">%s</text>`+"\n", top+(height-top-bottom)/2, html.EscapeString(c.YTitle))
}

// stroke returns the look of line i.
func stroke(i int) string {
	colour := colours()[i%len(colours())]
	weight, dash := 1.6, ""
	if i == 0 {
		weight = 3
	}
	switch i / len(colours()) {
	case 0:
	case 1:
		dash = ` stroke-dasharray="7 4"`
	default:
		dash = ` stroke-dasharray="2 3"`
	}
	return fmt.Sprintf(`stroke="%s" stroke-width="%.1f"%s`, colour, weight, dash)
}

func (c Chart) line(b *strings.Builder, i int) {
	l := c.Lines[i]
	var points []string
	for k, v := range l.Values {
		points = append(points, fmt.Sprintf("%.1f,%.1f", c.x(k), c.y(v)))
	}
	fmt.Fprintf(b, `<polyline fill="none" %s points="%s"/>`+"\n", stroke(i), strings.Join(points, " "))
	for k := range min(len(l.Low), len(l.High), len(l.Values)) {
		fmt.Fprintf(b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" %s/>`+"\n", c.x(k), c.y(l.Low[k]), c.x(k), c.y(l.High[k]), stroke(i))
	}
}

func (c Chart) legend(b *strings.Builder) {
	for i, l := range c.Lines {
		y := top + 8 + 19*i
		fmt.Fprintf(b, `<line x1="%d" y1="%d" x2="%d" y2="%d" %s/><text x="%d" y="%d">%s</text>`+"\n",
			width-right+14, y, width-right+40, y, stroke(i), width-right+46, y+4, html.EscapeString(l.Name))
	}
}
