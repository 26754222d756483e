package train_test

import (
	"fmt"
	"log"

	"l2mt/train"
)

// The paper's settings, with one choice changed.
func ExamplePreset() {
	config, err := train.Preset("paper", 64)
	if err != nil {
		log.Fatal(err)
	}
	config.Model.Readout, config.Epochs = "signed", 10
	fmt.Println(config.Batch, config.Start, config.Rate, config.Model.Estimator, config.Model.Readout)
	config.Patience = -1
	fmt.Println(config.Validate())
	// Output:
	// tuple preset 0.01 kernel signed
	// train: invalid training configuration: patience is -1; it must not be negative
}
