package tokencount

import (
	"math"

	"github.com/forge-agent/forge/message"
)

// An ImageRule says how a family counts pictures. The zero rule counts every
// picture as one of unknown size.
//
// Sources: OpenAI "Images and vision" (tiles of 512 pixels after scaling into
// 2048×2048 and to a short side of 768; patches of 32 pixels times a factor),
// Anthropic "Vision" (width × height ÷ 750 after scaling the long side to 1568
// pixels), Google "Image understanding" (258 tokens up to 384×384 and for each
// tile of 768 pixels beyond; a fixed number for Gemini 3).
type ImageRule struct {
	// Kind names the arithmetic.
	Kind ImageKind
	// BaseTokens is added for each picture.
	BaseTokens float64
	// TileTokens is the price of one tile, or of the whole picture where
	// there are no tiles.
	TileTokens float64
	// UnitPixels is the edge of a tile or patch in pixels, or the area of a
	// token for ImageArea.
	UnitPixels float64
	// LongSidePixels is what the long side is scaled down to, zero for no
	// scaling.
	LongSidePixels float64
	// MaxTokens caps the price, zero for no cap. It is also the price of a
	// picture whose size is unknown.
	MaxTokens float64
}

// ImageKind names an arithmetic for pictures.
type ImageKind string

const (
	// ImageFixed: every picture costs BaseTokens + TileTokens.
	ImageFixed ImageKind = ""
	// ImageTiles: OpenAI's tiles.
	ImageTiles ImageKind = "tiles"
	// ImagePatches: patches of UnitPixels, TileTokens for each.
	ImagePatches ImageKind = "patches"
	// ImageArea: one token for UnitPixels of area.
	ImageArea ImageKind = "area"
	// ImageCrops: one tile up to 384×384, crops beyond.
	ImageCrops ImageKind = "crops"
)

// unknownImageTokens is the price of a picture that no rule fits: the most
// that Claude charges for one, which is above most other families.
const unknownImageTokens = 1600

func (r ImageRule) tokens(b message.Image) int {
	if r == (ImageRule{}) {
		return unknownImageTokens
	}
	if b.Detail == "low" && r.Kind == ImageTiles {
		return round(r.BaseTokens)
	}
	n := r.content(float64(b.WidthPixels), float64(b.HeightPixels))
	if r.MaxTokens > 0 {
		n = min(n, r.MaxTokens)
	}
	return round(r.BaseTokens + n)
}

// content is the price of the pixels; infinite, so that the cap applies, when
// their number is unknown.
func (r ImageRule) content(w, h float64) float64 {
	if r.Kind == ImageFixed {
		return r.TileTokens
	}
	if w <= 0 || h <= 0 || r.UnitPixels <= 0 {
		if r.MaxTokens > 0 {
			return math.Inf(1)
		}
		return unknownImageTokens
	}
	if long := max(w, h); r.LongSidePixels > 0 && long > r.LongSidePixels {
		w, h = w*r.LongSidePixels/long, h*r.LongSidePixels/long
	}
	switch r.Kind {
	case ImageTiles:
		if short := min(w, h); short > 768 {
			w, h = w*768/short, h*768/short
		}
		return r.TileTokens * math.Ceil(w/r.UnitPixels) * math.Ceil(h/r.UnitPixels)
	case ImagePatches:
		return r.TileTokens * math.Ceil(w/r.UnitPixels) * math.Ceil(h/r.UnitPixels)
	case ImageArea:
		return math.Ceil(w * h / r.UnitPixels)
	case ImageCrops:
		if w <= 384 && h <= 384 {
			return r.TileTokens
		}
		crop := min(max(min(w, h)/1.5, 256), r.UnitPixels)
		return r.TileTokens * math.Ceil(w/crop) * math.Ceil(h/crop)
	}
	return unknownImageTokens
}
