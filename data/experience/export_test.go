package experience

// For the tests, which are in a package of their own.

var (
	Encode = encode
	Decode = decode
)
