"""One module a sub-command. Each has `main(argv) -> exit status`, parses, calls, and prints; the work is done elsewhere."""
