"""Which one should I take, in words and as a small value that the page's script can sort."""
