package experience

// For the tests, which are in a package of their own so that they can use
// experiencetest.

var (
	Encode = encode
	Decode = decode
	Seal   = seal
)
