"""What every learner is: parameters in the constructor, nothing happens there; `propose` does the work."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:  # a learner is described without loading the rooms it works on
    from undust.likeness import Site
    from undust.rules import Rule


@runtime_checkable
class Learner(Protocol):
    """A published method that proposes rules for one site.

    Subclass it, give it a `name` and keyword parameters with the paper's defaults, store each parameter under
    its own name, and write `propose`. Judging and selecting the rules is done elsewhere.

    >>> class Nothing(Learner):
    ...     name = "nothing"
    ...     def __init__(self, *, min_support: int = 3) -> None:
    ...         self.min_support = min_support
    ...     def propose(self, site):
    ...         return []
    >>> Nothing(min_support=5)
    Nothing(min_support=5)
    >>> Nothing().get_params()
    {'min_support': 3}
    """

    name: ClassVar[str]

    def propose(self, site: Site) -> list[Rule]:
        """The rules this method finds on the site, best first."""
        ...

    def get_params(self) -> dict[str, Any]:
        """The constructor's parameters with their present values; `type(x)(**x.get_params())` is a copy."""
        return {name: getattr(self, name) for name in parameters(type(self))}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.get_params().items())})"


def parameters(learner: type) -> dict[str, Any]:
    """Names and defaults of a learner's parameters, read from its constructor."""
    found = inspect.signature(learner).parameters.values()
    return {p.name: p.default for p in found if p.kind is p.KEYWORD_ONLY}
