"""A page as blocks: what the eye sees on one page, found from geometry alone, without a model and without a network.

`analyze` reads pages of a base PDF and returns one `PageAnalysis` a page. It knows nothing of other pages, so a
document can be cut into chunks anywhere; everything that needs the whole document (heading levels, running heads,
lists and tables that go on over a page) is done by `pdf.tagging.compose`.
"""

from pdf.layout.analyze import analyze
from pdf.layout.analyzer import Analyzer
from pdf.layout.model import Block, PageAnalysis, Piece, Ref, Style

__all__ = ["Analyzer", "Block", "PageAnalysis", "Piece", "Ref", "Style", "analyze"]
