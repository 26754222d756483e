package images

import (
	"bufio"
	"image"
	"image/color"
	_ "image/jpeg" // for image.Decode
	_ "image/png"
	"io"
	"os"

	"l2mt/data"
)

// Options say how pictures are read. Networks trained on ImageNet take a Short of 256
// and a Crop of 224.
type Options struct {
	// Short is the length that the shorter side is scaled to.
	Short int
	// Crop is the side of the square that is then cut out of the middle, at most Short.
	Crop int
	// MaxPixels is the size of the largest picture that is decoded: 2^25 pixels take 100
	// to 400 MB of memory.
	MaxPixels int
}

// Read reads a picture, scales its shorter side and cuts out the middle: Crop x
// Crop pixels by rows, each with a byte for red, green and blue. The content,
// not the name, decides whether it is JPEG or PNG. Transparency and remarks
// about the orientation are passed over, as torchvision does.
func Read(path string, o Options) ([]byte, error) {
	picture, err := decode(path, o.MaxPixels)
	if err != nil {
		return nil, err
	}
	return scaled(picture, o.Short, o.Crop), nil
}

// decode looks at the size that a file claims before it makes room for it.
func decode(path string, maxPixels int) (image.Image, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	config, _, err := image.DecodeConfig(bufio.NewReader(f))
	if err != nil {
		return nil, data.Malformed("%s: it is not a JPEG or PNG file, or damaged: %w", path, err)
	}
	if config.Width < 1 || config.Height < 1 ||
		config.Width > maxPixels/config.Height {
		return nil, data.Invalid("%s: %d x %d pixels; a picture must have 1 to %d", path,
			config.Width, config.Height, maxPixels)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	picture, _, err := image.Decode(bufio.NewReader(f))
	if err != nil {
		return nil, data.Malformed("%s: the picture is damaged or cut short: %w", path, err)
	}
	return picture, nil
}

// readRow puts the pixels of row y, counted from 0, into rgb.
func readRow(picture image.Image, y int, rgb []byte) {
	b := picture.Bounds()
	for x := range b.Dx() {
		pixel := picture.At(b.Min.X+x, b.Min.Y+y)
		c := color.NRGBAModel.Convert(pixel).(color.NRGBA)
		copy(rgb[x*colours:], []byte{c.R, c.G, c.B})
	}
}
