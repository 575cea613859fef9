package sessionfile_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

func TestTextOrList(t *testing.T) {
	type part struct {
		Type string
		N    int
	}
	for in, want := range map[string]struct {
		text   string
		isText bool
		parts  int
		odd    bool
	}{
		`"x"`:                      {text: "x", isText: true},
		`""`:                       {isText: true},
		`[]`:                       {},
		`[{"type":"a"},{"n":2}]`:   {parts: 2},
		`{"type":"a"}`:             {parts: 1},
		`null`:                     {},
		`7`:                        {odd: true},
		`true`:                     {odd: true},
		`[{"n":"x"},{"type":"b"}]`: {parts: 2, odd: true},
		`[1,{"type":"b"}]`:         {parts: 2, odd: true},
	} {
		var got struct{ V sessionfile.TextOrList[part] }
		if err := json.Unmarshal([]byte(`{"v":`+in+`}`), &got); err != nil {
			t.Errorf("%s: %v", in, err)
		}
		v := got.V
		if v.Text != want.text || v.IsText != want.isText || len(v.List) != want.parts || v.Odd != want.odd {
			t.Errorf("%s: %+v, want %+v", in, v, want)
		}
	}
}

// Pictures know their size where the header tells it.
func TestImages(t *testing.T) {
	picture := image.NewPaletted(image.Rect(0, 0, 5, 3), color.Palette{color.Black, color.White})
	encode := func(write func(*bytes.Buffer) error) string {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		return base64.StdEncoding.EncodeToString(b.Bytes())
	}
	webp := func(kind string, rest ...byte) string {
		data := append([]byte("RIFF\x00\x00\x00\x00WEBP"+kind+"\x00\x00\x00\x00"), rest...)
		return base64.StdEncoding.EncodeToString(append(data, make([]byte, 20)...))
	}
	for name, c := range map[string]struct {
		media, data   string
		width, height int
	}{
		"png":           {"image/png", encode(func(b *bytes.Buffer) error { return png.Encode(b, picture) }), 5, 3},
		"jpeg":          {"image/jpeg", encode(func(b *bytes.Buffer) error { return jpeg.Encode(b, picture, nil) }), 5, 3},
		"gif":           {"image/gif", encode(func(b *bytes.Buffer) error { return gif.Encode(b, picture, nil) }), 5, 3},
		"webp lossy":    {"image/webp", webp("VP8 ", 0, 0, 0, 0x9d, 0x01, 0x2a, 0x90, 0x01, 0x2c, 0x41), 400, 300},
		"webp lossless": {"image/webp", webp("VP8L", 0x2f, 0x8f, 0xc1, 0x4a, 0x00), 400, 300},
		"webp extended": {"image/webp", webp("VP8X", 0, 0, 0, 0, 0x8f, 0x01, 0x00, 0x2b, 0x01, 0x00), 400, 300},
		"webp unknown":  {"image/webp", webp("VP9 "), 0, 0},
		"cut":           {"image/png", base64.StdEncoding.EncodeToString([]byte("\x89PNG")), 0, 0},
		"other":         {"image/x-icon", base64.StdEncoding.EncodeToString([]byte("icon")), 0, 0},
	} {
		img := sessionfile.ImageFromURL("data:" + c.media + ";base64," + c.data)
		if img.MediaType != c.media || len(img.Data) == 0 || img.URL != "" || img.WidthPixels != c.width || img.HeightPixels != c.height {
			t.Errorf("%s: %s, %d bytes, %dx%d", name, img.MediaType, len(img.Data), img.WidthPixels, img.HeightPixels)
		}
	}
	for in, want := range map[string]message.Image{
		"https://example.com/x.png":    {URL: "https://example.com/x.png"},
		"data:image/png;base64,!":      {URL: "data:image/png;base64,!", MediaType: "image/png"},
		"data:image/svg+xml,<svg/>":    {URL: "data:image/svg+xml,<svg/>", MediaType: "image/svg+xml"},
		"data:image/png;base64,aWNvbg": {MediaType: "image/png", Data: []byte("icon")},
		"data:":                        {URL: "data:"},
	} {
		got := sessionfile.ImageFromURL(in)
		if got.URL != want.URL || got.MediaType != want.MediaType || !bytes.Equal(got.Data, want.Data) {
			t.Errorf("%s: %+v", in, got)
		}
	}
}
