"""The fast generators: pure functions of a random stream, compiled by numba."""
