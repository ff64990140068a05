"""Tables as values, and their writers: terminal, Markdown, LaTeX, CSV; a template writes HTML."""
