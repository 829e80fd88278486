"""Everything about PDF: files in, files and plain values out. No AWS, no Dagster, no environment."""
