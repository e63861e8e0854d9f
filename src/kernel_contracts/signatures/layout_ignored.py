"""Right on contiguous arrays, wrong on views of the same values."""

from __future__ import annotations

from kernel_contracts.contracts.evidence import Layout
from kernel_contracts.signatures.base import Evidence, Rule, contiguous
from kernel_contracts.signatures.flushing import explains, flushed

_FLUSHED = ("input_flushed", "result_flushed", "either_flushed")


def match(evidence: Evidence) -> str | None:
    if not evidence.failing or contiguous(evidence.failing) or not contiguous(evidence.passing):
        return None
    if explains(evidence) or len(flushed(evidence, *_FLUSHED)) == len(evidence.failing):
        return None  # what is flushed is small; that it was small in other layouts alone is chance, or said with it
    layouts = sorted({o.case.layout.value for o in evidence.failing})
    assert Layout.CONTIGUOUS.value not in layouts
    right = [o for o in evidence.passing if o.case.layout.value in layouts]
    if len(right) > len(evidence.failing):  # then it is not the layout
        return None
    return f"wrong on {', '.join(layouts)} inputs, right on contiguous ones"


RULE = Rule("layout_ignored", "Right on contiguous arrays, wrong on views of the same values.", 28, match, always=True)
