package sessionfile

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"

	"github.com/forge-agent/forge/message"
)

// TextOrList is a JSON value that is a string in some files and a list of
// parts in others. Null gives the zero value.
type TextOrList[T any] struct {
	// Text is the string; IsText is true when it was one.
	Text   string
	IsText bool
	// List are the parts otherwise. A single object counts as a list of one.
	List []T
	// Odd is true when the value was of another type, or a part had a field
	// of an unexpected type: something was left out.
	Odd bool
}

// UnmarshalJSON reads a string, a list of parts or one part. It fails only on
// broken JSON.
func (t *TextOrList[T]) UnmarshalJSON(data []byte) error {
	*t = TextOrList[T]{}
	var err error
	switch (Value{Raw: data}).Kind() {
	case '"':
		t.IsText = true
		err = json.Unmarshal(data, &t.Text)
	case '[':
		err = json.Unmarshal(data, &t.List)
	case '{':
		t.List = make([]T, 1)
		err = json.Unmarshal(data, &t.List[0])
	case 'n':
	default:
		t.Odd = true
	}
	if mismatch := (*json.UnmarshalTypeError)(nil); errors.As(err, &mismatch) {
		t.Odd, err = true, nil
	}
	return err
}

// ImageFromURL returns the image for a URL. The bytes of a data URL are
// decoded; an invalid one keeps its URL.
func ImageFromURL(url string) message.Image {
	rest, inline := strings.CutPrefix(url, "data:")
	if !inline {
		return message.Image{URL: url}
	}
	head, data, ok := strings.Cut(rest, ",")
	mediaType, encoded := strings.CutSuffix(head, ";base64")
	if !ok || !encoded {
		return message.Image{URL: url, MediaType: mediaType}
	}
	img, ok := ImageFromBase64(mediaType, data)
	if !ok {
		img.URL = url
	}
	return img
}

// ImageFromBase64 returns the image for base64 text, with its size in pixels
// where the header tells it. It reports false when the text is no base64; the
// image then has only its media type.
func ImageFromBase64(mediaType, text string) (message.Image, bool) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		data, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	}
	if err != nil {
		return message.Image{MediaType: mediaType}, false
	}
	return NewImage(mediaType, data), true
}

// NewImage returns the image for its bytes, with its size in pixels where the
// header of a PNG, JPEG, GIF or WebP tells it.
func NewImage(mediaType string, data []byte) message.Image {
	img := message.Image{MediaType: mediaType, Data: data}
	img.WidthPixels, img.HeightPixels = imageSize(data)
	return img
}

func imageSize(data []byte) (width, height int) {
	var c image.Config
	var err error
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG")):
		c, err = png.DecodeConfig(bytes.NewReader(data))
	case bytes.HasPrefix(data, []byte("\xff\xd8")):
		c, err = jpeg.DecodeConfig(bytes.NewReader(data))
	case bytes.HasPrefix(data, []byte("GIF8")):
		c, err = gif.DecodeConfig(bytes.NewReader(data))
	case len(data) >= 30 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return webpSize(data)
	}
	if err != nil {
		return 0, 0
	}
	return c.Width, c.Height
}

// webpSize reads the three kinds of header of RFC 9649, sections 2.5 to 2.7.
func webpSize(d []byte) (width, height int) {
	switch string(d[12:16]) {
	case "VP8 ":
		return (int(d[26]) | int(d[27])<<8) & 0x3fff, (int(d[28]) | int(d[29])<<8) & 0x3fff
	case "VP8L":
		bits := int(d[21]) | int(d[22])<<8 | int(d[23])<<16 | int(d[24])<<24
		return bits&0x3fff + 1, bits>>14&0x3fff + 1
	case "VP8X":
		size := func(p []byte) int { return (int(p[0]) | int(p[1])<<8 | int(p[2])<<16) + 1 }
		return size(d[24:27]), size(d[27:30])
	}
	return 0, 0
}
