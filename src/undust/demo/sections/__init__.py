"""The sections of the demo site: one kind of web software a file, its URLs and its truth side by side."""

from undust.demo.sections.docs import Docs
from undust.demo.sections.files import Files, Help
from undust.demo.sections.forum import Forum
from undust.demo.sections.section import Body, Planted, Section, Target
from undust.demo.sections.shop import Shop
from undust.demo.sections.stories import Stories
from undust.demo.sections.talk import Talk
from undust.demo.sections.wiki import Wiki

ALL: tuple[type[Section], ...] = (Forum, Talk, Stories, Wiki, Docs, Shop, Files, Help)

__all__ = ["ALL", "Body", "Planted", "Section", "Target"]
