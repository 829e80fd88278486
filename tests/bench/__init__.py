"""``make bench``: what the engine does with a folder of PDFs, in figures. Never a test: machines are noisy."""
