// Package pretrained has a network that is ready to use on problems over any
// features, trained on problems drawn from thirteen datasets. The model card in
// docs/method.md lists them and the network's limits; testdata/pretrain.sh makes
// such a network from the data.
package pretrained

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"

	"l2mt/model"
	_ "l2mt/model/pairwise" // its body and estimator
)

// Name is the network's name. Another network gets another name.
const Name = "l2mt-prior-7"

//go:embed config.json weights.safetensors
var files embed.FS

// Load returns the network.
func Load() (*model.Network, error) {
	return model.LoadFS(files)
}

// Checksum is the SHA-256 of the SHA-256 sums, in hexadecimal digits, of the
// network's files: first the configuration, then the weights.
func Checksum() string {
	sums := sha256.New()
	for _, name := range []string{model.ConfigFile, model.WeightsFile} {
		b, _ := files.ReadFile(name) // is embedded above
		fmt.Fprintf(sums, "%x", sha256.Sum256(b))
	}
	return hex.EncodeToString(sums.Sum(nil))
}
