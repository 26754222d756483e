// Package pretrained has a network that is ready to use on problems over any
// features, trained on problems drawn from thirteen datasets. What these are, and
// what the network is bad at, says the model card in docs/method.md;
// testdata/pretrain.sh makes such a network from the data.
package pretrained

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"

	"l2mt/model"
)

// Name is that of the network. Another network gets another name.
const Name = "l2mt-prior-7"

//go:embed config.json weights.safetensors
var files embed.FS

// Load returns the network.
func Load() (*model.Network, error) {
	n, err := model.LoadFS(files)
	if err != nil {
		return nil, err
	}
	return n, nil
}

// Checksum is the SHA-256 of the SHA-256 sums, in hexadecimal digits, of the
// network's files: first the configuration, then the weights.
func Checksum() string {
	all := sha256.New()
	for _, name := range []string{model.ConfigFile, model.WeightsFile} {
		b, err := files.ReadFile(name)
		if err != nil {
			panic(err) // it is embedded above
		}
		fmt.Fprintf(all, "%x", sha256.Sum256(b))
	}
	return hex.EncodeToString(all.Sum(nil))
}
