package safetensors_test

import (
	"fmt"
	"os"
	"path/filepath"

	"l2mt/data/safetensors"
)

func Example() {
	path := filepath.Join(os.TempDir(), "example.safetensors")
	defer os.Remove(path)
	err := safetensors.Write(path, []safetensors.Tensor{
		{Name: "W", DType: safetensors.F32, Shape: []int{2, 2}, Value: []float64{1, 2, 3, 4}},
	}, map[string]string{"step": "12"})
	if err != nil {
		fmt.Println(err)
		return
	}
	tensors, metadata, err := safetensors.Read(path)
	fmt.Println(tensors[0].Name, tensors[0].Shape, tensors[0].Value, metadata["step"], err)
	// Output: W [2 2] [1 2 3 4] 12 <nil>
}
