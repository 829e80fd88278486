"""Content streams: finding what they paint (`scanner`) and the flat list of what a page paints (`painting`)."""
