package rewritingproxy

// This design does not need fields in bytes.
