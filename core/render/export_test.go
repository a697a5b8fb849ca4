package render

// FenceAs is the code fence of a message whose texts and codes are joined; Fence is one without a language.
var FenceAs = fence

func Fence(s string) string { return fence("", s) }
