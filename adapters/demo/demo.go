// Package demo is what a newcomer gets without any account: a scripted [Model] that understands a handful of phrases,
// and the [Workbench], an MCP server in the process with a clock, a calculator and the files of one directory.
//
// The model is no language model and says so. It stands behind the same port as a real one: it streams, calls the
// tools it is offered, several at once, and puts their results, a denial among them, into words. It is deterministic:
// the same talk gives the same reply.
//
// The workbench works in one directory through os.Root, so neither "..", nor an absolute path, nor a symbolic link leads
// out of it. Its [Metadata] declares each tool's access, risk and approval (REQUIREMENTS R20–R25). A real model uses the same workbench.
package demo
