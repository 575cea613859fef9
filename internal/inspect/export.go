package inspect

import "github.com/forge-agent/forge/budget"

// Order is how categories are drawn, as they stand in a request: what seldom
// changes comes first.
func Order() []budget.Category {
	o := order()
	return o[:]
}

// CategoryTitle is a category's name for people.
func CategoryTitle(c budget.Category) string { return categoryTitle(c) }

// CategoryColour is a category's colour for a light or a dark background, as
// "#rrggbb". Any two stay apart with every kind of colour blindness.
func CategoryColour(c budget.Category, dark bool) string { return colourOf(c, dark) }

// ShortTokens writes a number in few characters: 950, 12k, 1.5M.
func ShortTokens(n int) string { return shortTokens(n) }

// Share writes part/whole as a percentage; a dash when there is no whole.
func Share(part, whole int) string { return share(part, whole) }

// Money writes an amount in US dollars; a dash for one that is unknown.
func Money(usd *float64) string { return money(usd) }
