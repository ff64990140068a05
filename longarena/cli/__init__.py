"""The command line: each file parses, calls one function, prints."""
