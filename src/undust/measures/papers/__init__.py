"""The papers' tables and figures reprinted: their figures, and ours on the data at hand, side by side.

T: Schonfeld's thesis (2006); W: Bar-Yossef, Keidar, Schonfeld (WWW 2007); K: Koppula et al. (WSDM 2010);
L: Lei et al. (WWW 2010). Data differ, so do not expect equal figures: what should agree is the order of the
methods and the shape of the curves. Each is printed next to the ceiling of its data.
"""

from undust.measures.papers.curves import Curves
from undust.measures.papers.dust import dust
from undust.measures.papers.pairs import pairs
from undust.measures.papers.reprint import reprint
from undust.measures.papers.trees import trees

__all__ = ["Curves", "dust", "pairs", "reprint", "trees"]
